/** A request whose head has gone on to a hub while its body is still on its way. */
import * as http from 'node:http'
import { type Answer, type Asked, answerOf } from './exchange.ts'

export class HeadAhead {
  readonly #onward: http.ClientRequest
  /** Whether the hub wants the body, and has not answered the head alone. */
  readonly isWanted: Promise<boolean>
  readonly answer: Promise<Answer | undefined>

  constructor({ method, path, headers }: Omit<Asked, 'body'>, target: string) {
    const onward = http.request(new URL(path, target), { method, headers, agent: false })
    this.answer = new Promise(resolve => {
      onward.once('response', reply => resolve(answerOf(reply)))
      onward.on('error', () => resolve(undefined))
    })
    const wanted = new Promise<boolean>(resolve => onward.once('continue', () => resolve(true)))
    this.isWanted = Promise.race([wanted, this.answer.then(() => false)])
    this.#onward = onward
    onward.flushHeaders()
  }

  give(body: Buffer): Promise<Answer | undefined> {
    this.#onward.end(body)
    return this.answer
  }

  cut(): void {
    this.#onward.destroy()
  }
}
