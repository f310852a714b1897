/** The answer to a poll, written as it is read and taken: neither an envelope nor an answer lies in memory as a whole. */

import type { ServerResponse } from 'node:http'
import { writePiece } from '../http/rows.ts'
import type { BlobReader, Blobs } from '../store/blob-port.ts'
import type { WaitingEnvelope } from '../store/port.ts'

/** Divisible by three, so that pieces of base64url join without padding. */
const PIECE_BYTES = 192 * 1024

/** Every character is a byte. */
const ASCII = 'latin1'

/** The members of the answer beside `messages`. */
export type PollTail = { more: boolean; notice: string }

/** Where the bytes of envelopes are read. */
export type EnvelopeSources = {
  contents: (ids: readonly number[]) => Promise<ReadonlyMap<number, Uint8Array>>
  blobs: Pick<Blobs, 'open'>
}

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
  sources: EnvelopeSources,
): Promise<void> {
  let text = '{"messages":['
  let separator = ''
  for await (const { envelope, bytes } of opened(envelopes, sources)) {
    text += `${separator}{"id":${envelope.id},"accepted_at":${envelope.acceptedMs},"envelope":"`
    separator = ','
    if (bytes instanceof Uint8Array) text += base64url(bytes)
    else {
      await writeFile(response, text, bytes)
      text = ''
    }
    text += '"}'
    if (text.length > PIECE_BYTES) {
      await writePiece(response, text, ASCII)
      text = ''
    }
  }
  await writePiece(response, `${text}],"more":${tail.more},"key_state_notice":"${tail.notice}"}`, ASCII)
}

/** Envelopes that were not collected meanwhile, each with its bytes or the file that has them. */
async function* opened(
  envelopes: WaitingEnvelope[],
  { contents, blobs }: EnvelopeSources,
): AsyncGenerator<{ envelope: WaitingEnvelope; bytes: Uint8Array | BlobReader }> {
  for (const piece of piecesOf(envelopes)) {
    const held = await contents(piece.filter(({ file }) => file === undefined).map(({ id }) => id))
    for (const envelope of piece) {
      const { id, file } = envelope
      const bytes = file === undefined ? held.get(id) : await blobs.open(file)
      if (bytes !== undefined) yield { envelope, bytes }
    }
  }
}

/** Envelopes whose contents are read together: no more than a piece, or one of them. */
function* piecesOf(envelopes: WaitingEnvelope[]): Generator<WaitingEnvelope[]> {
  let piece: WaitingEnvelope[] = []
  let bytes = 0
  for (const envelope of envelopes) {
    const size = envelope.file === undefined ? envelope.size : 0
    if (piece.length > 0 && bytes + size > PIECE_BYTES) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(envelope)
    bytes += size
  }
  if (piece.length > 0) yield piece
}

/** What stands before a file, and the file, which is closed however this ends. */
async function writeFile(response: ServerResponse, before: string, file: BlobReader): Promise<void> {
  try {
    await writePiece(response, before, ASCII)
    const piece = Buffer.allocUnsafe(PIECE_BYTES)
    for (;;) {
      const length = await file.fill(piece)
      if (length > 0) await writePiece(response, base64url(piece.subarray(0, length)), ASCII)
      if (length < PIECE_BYTES) return
    }
  } finally {
    await file.close()
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
