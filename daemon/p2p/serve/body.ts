/** The body of a request, read as far as somebody wants it: what came is kept, what is to come waits at its sender. */
import type { IncomingMessage } from 'node:http'
import { concat } from '../../../protocol/encoding/bytes.ts'

export class Body {
  readonly length: number
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #came: Uint8Array[] = []
  #size = 0

  constructor(request: IncomingMessage, length: number) {
    this.length = length
    this.#chunks = (request as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  }

  /** All that has come once there are so many bytes; throws where the body ends before. */
  async first(count: number): Promise<Uint8Array> {
    while (this.#size < count) {
      const { done, value } = await this.#chunks.next()
      if (done === true) throw new Error('the body has ended')
      this.#came.push(value)
      this.#size += value.length
    }
    return concat(...this.#came)
  }
}
