/** How long delegations take until they are in the provider's store. */
import { follow, operate, type Running } from './node-world.ts'

const TEXT_BYTES = 8 * 1024
const ARRIVES_MS_MAX = 30_000

/** Delegates one task after another; `close` when no more are wanted. */
export class Delegations {
  readonly #from: Running
  readonly #to: Running
  readonly #arrived = new Map<string, (at: number) => void>()
  readonly close: () => void

  constructor(from: Running, to: Running) {
    this.#from = from
    this.#to = to
    this.close = follow(to, (event, data) => {
      if (event === 'inbox') this.#arrived.get(String(data['interaction_id']))?.(performance.now())
    })
  }

  /** Milliseconds that each of so many took. */
  async times(count: number): Promise<number[]> {
    const times: number[] = []
    for (let i = 0; i < count; i++) times.push(await this.#one(i))
    return times
  }

  async #one(i: number): Promise<number> {
    const started = performance.now()
    const task = `${i} `.padEnd(TEXT_BYTES, 'x')
    const { interaction_id } = await operate(this.#from, '/delegate', { to: this.#to.aid, task })
    const id = String(interaction_id)
    const at = await new Promise<number>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${id} did not arrive`)), ARRIVES_MS_MAX)
      this.#arrived.set(id, now => {
        clearTimeout(timer)
        resolve(now)
      })
      // it may have come before anybody waited for it
      void operate(this.#to, '/thread', { interaction_id: id, max_chars: 1 }).then(
        () => this.#arrived.get(id)?.(performance.now()),
        () => {},
      )
    })
    this.#arrived.delete(id)
    return at - started
  }
}
