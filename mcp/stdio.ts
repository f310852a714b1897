/**
 * Lines of JSON-RPC on two streams, with a limit: a message that is too long is answered and skipped, whatever is not
 * JSON or is refused is answered, and the connection goes on. It has the shape that the SDK expects of a transport.
 */
import type { Readable, Writable } from 'node:stream'

export const MESSAGE_BYTES_MAX = 10 * 1024 * 1024
/** Beginning and end of a message that is skipped, where its id stands. */
const EDGE_BYTES = 1024
const NEWLINE = 0x0a
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600

type Id = string | number | null

/** Why a message is not taken: a code of JSON-RPC and a sentence. */
export type Refused = { readonly code: number; readonly sentence: string }
export type Judge = (message: unknown) => Refused | undefined

export class LineTransport {
  onmessage?: (message: object) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #input: Readable
  readonly #output: Writable
  readonly #judge: Judge
  #held: Buffer[] = []
  #bytes = 0
  #skipped: { head: Buffer; tail: Buffer } | undefined

  /** What `judge` lets pass is an object. */
  constructor(input: Readable, output: Writable, judge: Judge) {
    this.#input = input
    this.#output = output
    this.#judge = judge
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#take)
  }

  async close(): Promise<void> {
    this.#input.off('data', this.#take)
    this.#input.pause()
    this.onclose?.()
  }

  async send(message: object): Promise<void> {
    if (this.#output.write(`${JSON.stringify(message)}\n`)) return
    await new Promise<void>(resolve => {
      this.#output.once('drain', resolve)
      this.#output.once('close', resolve)
    })
  }

  readonly #take = (chunk: Buffer): void => {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#hold(chunk.subarray(from, end))
      this.#endLine()
      from = end + 1
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from))
  }

  #hold(part: Buffer): void {
    this.#bytes += part.length
    if (this.#skipped !== undefined)
      this.#skipped.tail = Buffer.concat([this.#skipped.tail, part]).subarray(-EDGE_BYTES)
    else this.#held.push(part)
    if (this.#skipped !== undefined || this.#bytes <= MESSAGE_BYTES_MAX) return
    const [whole, head] = [Buffer.concat(this.#held), Buffer.alloc(EDGE_BYTES)]
    whole.copy(head)
    this.#skipped = { head, tail: Buffer.from(whole.subarray(-EDGE_BYTES)) }
    this.#held = []
  }

  #endLine(): void {
    const [line, skipped, bytes] = [Buffer.concat(this.#held), this.#skipped, this.#bytes]
    this.#held = []
    this.#bytes = 0
    this.#skipped = undefined
    if (skipped !== undefined) this.#refuseLong(skipped, bytes)
    else if (line.toString('latin1').trim() !== '') this.#read(line.toString())
  }

  #read(text: string): void {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      this.#refuse(null, PARSE_ERROR, 'expected one message of JSON on each line')
      return
    }
    const refused = this.#judge(message)
    if (refused === undefined) this.onmessage?.(message as object)
    else this.#refuse(idOf(message), refused.code, refused.sentence)
  }

  #refuseLong({ head, tail }: { head: Buffer; tail: Buffer }, bytes: number): void {
    const sentence = `the message is ${bytes} bytes long, over the limit of ${MESSAGE_BYTES_MAX}; give a file by its path instead`
    this.onerror?.(new Error(sentence))
    this.#refuse(idIn(head.toString('latin1'), tail.toString('latin1')), INVALID_REQUEST, sentence)
  }

  #refuse(id: Id, code: number, message: string): void {
    void this.send({ jsonrpc: '2.0', id, error: { code, message } })
  }
}

/** The id to answer under; that of a response is one of ours, and the client may have the same for its own. */
function idOf(message: unknown): Id {
  if (message === null || typeof message !== 'object' || 'result' in message || 'error' in message)
    return null
  const { id } = message as { id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

const ID = String.raw`"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,100}")`
const FIRST = new RegExp(String.raw`^\s*\{[^{}]*?${ID}`)
const LAST = new RegExp(String.raw`${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

/** The id of a message of which only both ends are known: clients write it first or last. */
function idIn(head: string, tail: string): Id {
  const found = FIRST.exec(head)?.[1] ?? LAST.exec(tail)?.[1]
  return found === undefined ? null : (JSON.parse(found) as Id)
}
