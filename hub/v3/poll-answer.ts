/** The answer to a poll, written as it is read and taken: neither an envelope nor an answer lies in memory as a whole. */

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { BlobReader, Blobs } from '../store/blob-port.ts'
import type { WaitingEnvelope } from '../store/port.ts'

/** Divisible by three, so that pieces of base64url join without padding. */
const PIECE_BYTES = 192 * 1024

/** The members of the answer beside `messages`. */
export type PollTail = { more: boolean; notice: string }

/** Answers on their way, one for each mailbox: a newer one ends the older, whose reader has gone or does not read. */
export class PollAnswers {
  readonly #writing = new Map<number, ServerResponse>()

  async write(mailbox: number, response: ServerResponse, work: () => Promise<void>): Promise<void> {
    this.#writing.get(mailbox)?.destroy()
    this.#writing.set(mailbox, response)
    try {
      await work()
    } finally {
      if (this.#writing.get(mailbox) === response) this.#writing.delete(mailbox)
    }
  }
}

/** Writes the whole JSON answer with the back pressure of the connection. */
export async function writePollAnswer(
  response: ServerResponse,
  envelopes: WaitingEnvelope[],
  tail: PollTail,
  blobs: Blobs,
): Promise<void> {
  let text = '{"messages":['
  let separator = ''
  for (const envelope of envelopes) {
    const file = envelope.file === undefined ? undefined : await blobs.open(envelope.file)
    const { content } = envelope
    if (file === undefined && content === undefined) continue
    text += `${separator}{"id":${envelope.id},"accepted_at":${envelope.acceptedMs},"envelope":"`
    separator = ','
    if (content !== undefined) text += base64url(content)
    else if (file !== undefined) {
      await writeFile(response, text, file)
      text = ''
    }
    text += '"}'
    if (text.length > PIECE_BYTES) {
      await write(response, text)
      text = ''
    }
  }
  await write(response, `${text}],"more":${tail.more},"key_state_notice":"${tail.notice}"}`)
}

/** What stands before a file, and the file, which is closed however this ends. */
async function writeFile(response: ServerResponse, before: string, file: BlobReader): Promise<void> {
  try {
    await write(response, before)
    const piece = Buffer.allocUnsafe(PIECE_BYTES)
    for (;;) {
      const length = await file.fill(piece)
      if (length > 0) await write(response, base64url(piece.subarray(0, length)))
      if (length < PIECE_BYTES) return
    }
  } finally {
    await file.close()
  }
}

async function write(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed) throw new Error('the client has gone')
  if (response.write(text, 'latin1')) return
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  response.once('close', onClose)
  try {
    await once(response, 'drain', { signal: gone.signal })
  } finally {
    response.removeListener('close', onClose)
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
