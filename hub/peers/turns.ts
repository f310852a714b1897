/** Calls to one peer leave one after another: its times have to arrive in order. Their bodies may overlap. */
import { Failure } from '../../protocol/encoding/errors.ts'
import { unlessAborted } from '../../protocol/timers.ts'

const MIB = 1024 * 1024
/** What waits for a peer that is slow takes no room from others. */
const WAITING_MAX = 32
const WAITING_BYTES_MAX = 64 * MIB

/** Other calls to this peer keep the line, and it was not asked. */
export class PeerBusy extends Failure {
  override name = 'PeerBusy'
}

export class Turns {
  #last: Promise<unknown> = Promise.resolve()
  #calls = 0
  #bytes = 0

  /**
   * Runs once those before have ended or passed their turn on; throws {@link PeerBusy} where too much waits already, or
   * `signal` aborts before.
   */
  async take<T>(bytes: number, signal: AbortSignal, run: (passOn: () => void) => Promise<T>): Promise<T> {
    const isFull = this.#calls >= WAITING_MAX || this.#bytes + bytes > WAITING_BYTES_MAX
    if (this.#calls > 0 && isFull) throw new PeerBusy('too much waits for this peer')
    this.#calls += 1
    this.#bytes += bytes
    const before = this.#last
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.#last = before.then(() => ended)
    try {
      await unlessAborted(before, signal).catch(cause => {
        throw new PeerBusy('the calls before it took too long', { cause })
      })
      return await run(end)
    } finally {
      this.#calls -= 1
      this.#bytes -= bytes
      end()
    }
  }
}
