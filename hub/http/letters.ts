/** An answer with mail, written as it is read and taken: neither a letter nor an answer lies in memory as a whole. */
import type { ServerResponse } from 'node:http'
import { writePiece } from './rows.ts'

/** Divisible by three, so that pieces of base64 join without padding. */
const PIECE_BYTES = 192 * 1024

/** A file that is there, and can't be read now. */
const UNREADABLE = 'unreadable'

/** Every character is a byte. */
const ASCII = 'latin1'

/** A file that is read on until a piece is full or it ends. */
type FileReader = { fill(piece: Uint8Array): Promise<number>; close(): Promise<void> }

/** Mail that waits: its bytes are held under its id, unless a file has them. */
export type Waiting<I> = { id: I; size: number; file: string | undefined }

/** Where the bytes of mail are read. */
export type MailSources<I> = {
  contents: (ids: readonly I[]) => Promise<ReadonlyMap<I, Uint8Array>>
  blobs: { open(file: string): Promise<FileReader | undefined> }
}

/** How mail is written: all members of one but the last, whose name stands there and whose value are its bytes. */
export type Printed<M> = {
  encoding: 'base64' | 'base64url'
  /** The JSON of these members, without its brace at the end. */
  before: (mail: M) => string
  member: string
  /** What comes after the list, with the brace that ends the answer; whether mail was left out that can't be read now. */
  after: (isCut: boolean) => string
}

/** Answers on their way, one for each mailbox: a newer one ends the older, whose reader has gone or does not read. */
export class MailAnswers {
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

/**
 * Writes the whole JSON answer, `{"messages":[…]` and what comes after, with the back pressure of the connection. Where a
 * file can't be read now, what lies before it is given; nothing may overtake it.
 */
export async function writeMail<I, M extends Waiting<I>>(
  response: ServerResponse,
  waiting: readonly M[],
  { encoding, before, member, after }: Printed<M>,
  sources: MailSources<I>,
): Promise<void> {
  let text = '{"messages":['
  let separator = ''
  let isCut = false
  for await (const { mail, bytes } of opened<I, M>(waiting, sources)) {
    isCut = bytes === UNREADABLE
    if (bytes === UNREADABLE) break
    text += `${separator}${before(mail)},"${member}":"`
    separator = ','
    if (bytes instanceof Uint8Array) text += textOf(bytes, encoding)
    else {
      await writeFile(response, text, bytes, encoding)
      text = ''
    }
    text += '"}'
    if (text.length > PIECE_BYTES) {
      await writePiece(response, text, ASCII)
      text = ''
    }
  }
  await writePiece(response, `${text}]${after(isCut)}`, ASCII)
}

/** Mail that was not collected meanwhile, each with its bytes or the file that has them. */
async function* opened<I, M extends Waiting<I>>(
  waiting: readonly M[],
  { contents, blobs }: MailSources<I>,
): AsyncGenerator<{ mail: M; bytes: Uint8Array | FileReader | typeof UNREADABLE }> {
  let isFirst = true
  const unreadable = (error: unknown): typeof UNREADABLE => {
    if (isFirst) throw error
    return UNREADABLE
  }
  for (const piece of piecesOf<I, M>(waiting)) {
    const held = await contents(piece.filter(({ file }) => file === undefined).map(({ id }) => id))
    for (const mail of piece) {
      const { id, file } = mail
      const reading = file === undefined ? held.get(id) : blobs.open(file).catch(unreadable)
      const bytes = await reading
      if (bytes === undefined) continue
      yield { mail, bytes }
      isFirst = false
    }
  }
}

/** Mail whose contents are read together: no more than a piece, or one of them. */
function* piecesOf<I, M extends Waiting<I>>(waiting: readonly M[]): Generator<M[]> {
  let piece: M[] = []
  let bytes = 0
  for (const mail of waiting) {
    const size = mail.file === undefined ? mail.size : 0
    if (piece.length > 0 && bytes + size > PIECE_BYTES) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(mail)
    bytes += size
  }
  if (piece.length > 0) yield piece
}

/** What stands before a file, and the file, which is closed however this ends. */
async function writeFile(
  response: ServerResponse,
  before: string,
  file: FileReader,
  encoding: Printed<never>['encoding'],
): Promise<void> {
  try {
    await writePiece(response, before, ASCII)
    const piece = Buffer.allocUnsafe(PIECE_BYTES)
    for (;;) {
      const length = await file.fill(piece)
      if (length > 0) await writePiece(response, textOf(piece.subarray(0, length), encoding), ASCII)
      if (length < PIECE_BYTES) return
    }
  } finally {
    await file.close()
  }
}

const textOf = (bytes: Uint8Array, encoding: Printed<never>['encoding']): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
