/** The head of the supply chain, which one process of a hub at a time goes on from. */
import type { Timers } from '../../protocol/timers.ts'
import type { ChainHead, SupplyHeads } from '../core/ports/supply-heads.ts'
import type { SupplyHead } from '../store/ledger-port.ts'
import type { Store } from '../store/port.ts'
import type { Connections } from '../store/postgres/connections.ts'
import type { Word } from './word.ts'

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('supply chain head', 0))"
const KIND = 'head'
const READ_EVERY_MS = 1000

type Parts = {
  connections: Connections
  word: Word
  store: Pick<Store, 'supplyHead'>
  timers: Timers
  /** What is done when this process ends. */
  atEnd: (work: () => void) => void
}

export function supplyHeadsOver({ connections, word, store, timers, atEnd }: Parts): SupplyHeads {
  return {
    async open(none): Promise<ChainHead> {
      const read = async (): Promise<SupplyHead> => (await store.supplyHead()) ?? none
      let head = await read()
      let last: Promise<unknown> = Promise.resolve()
      // it never goes back: an answer that was read earlier may come later
      const look = (): void =>
        void read().then(
          newest => {
            if (newest.seq > head.seq) head = newest
          },
          () => undefined,
        )
      word.listen(KIND, look)
      const reading = timers.every(READ_EVERY_MS, look)
      reading.unref()
      atEnd(() => timers.clear(reading))
      const advanced: ChainHead['advance'] = work =>
        connections.transaction(
          async db => {
            await db.run(LOCK)
            head = await read()
            try {
              const { answer, head: next } = await work(head)
              head = next
              return answer
            } catch (error) {
              // where even that can't be read, the next work finds out
              head = await read().catch(() => head)
              throw error
            } finally {
              word.tell(KIND, '')
            }
          },
          { holds: true },
        )
      return {
        get known() {
          return head
        },
        advance(work) {
          const done = last.then(() => advanced(work))
          last = done.catch(() => undefined)
          return done
        },
      }
    },
  }
}
