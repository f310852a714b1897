/** The head of the supply chain in the memory of one process: work follows work. */
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { Store } from '../../store/port.ts'
import type { ChainHead, SupplyHeads } from '../ports/supply-heads.ts'

export function supplyHeadsInProcess(store: Pick<Store, 'supplyHead'>): SupplyHeads {
  let head: SupplyHead | undefined
  let last: Promise<unknown> = Promise.resolve()
  return {
    async open(none): Promise<ChainHead> {
      head = (await store.supplyHead()) ?? none
      const known = (): SupplyHead => head ?? none
      return {
        get known() {
          return known()
        },
        advance(work) {
          const done = last.then(async () => {
            try {
              const { answer, head: next } = await work(known())
              head = next
              return answer
            } catch (error) {
              // where even that can't be read, the next work finds out
              head = await store.supplyHead().then(
                read => read ?? none,
                () => known(),
              )
              throw error
            }
          })
          last = done.catch(() => undefined)
          return done
        },
      }
    },
  }
}
