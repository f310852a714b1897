/** Long answers, written piece by piece with the back pressure of the connection: no list lies in memory as a whole. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { jsonText, Streamed } from './reply.ts'

const PIECE_CHARACTERS = 64 * 1024

/** Writes text, and waits while the client reads. */
export async function writePiece(
  response: ServerResponse,
  text: string,
  encoding: BufferEncoding = 'utf8',
): Promise<void> {
  if (response.destroyed) throw new Error('the client has gone')
  if (response.write(text, encoding)) return
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  response.once('close', onClose)
  try {
    await once(response, 'drain', { signal: gone.signal })
  } finally {
    response.removeListener('close', onClose)
  }
}

/** A JSON object of these members, then of lists whose rows are read while they are written. */
export function streamedLists(
  members: Record<string, unknown>,
  lists: Record<string, AsyncIterable<unknown>>,
): Streamed {
  return streamedJson(piecesOf(members, lists))
}

/** What is read page by page, one row at a time. */
export async function* rowsOf<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const page of pages) yield* page
}

/** JSON in pieces, which are made while they are written. */
export function streamedJson(pieces: AsyncIterable<string>): Streamed {
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
  return new Streamed(headers, async response => {
    let text = ''
    for await (const piece of pieces) {
      text += piece
      if (text.length < PIECE_CHARACTERS) continue
      await writePiece(response, text)
      text = ''
    }
    await writePiece(response, text)
  })
}

async function* piecesOf(
  members: Record<string, unknown>,
  lists: Record<string, AsyncIterable<unknown>>,
): AsyncGenerator<string> {
  let separator = '{'
  for (const [name, value] of Object.entries(members)) {
    yield `${separator}${jsonText(name)}:${jsonText(value)}`
    separator = ','
  }
  for (const [name, rows] of Object.entries(lists)) {
    yield `${separator}${jsonText(name)}:[`
    separator = ''
    for await (const row of rows) {
      yield `${separator}${jsonText(row)}`
      separator = ','
    }
    yield ']'
    separator = ','
  }
  yield '}'
}
