/** The head of one process keeps its contract, and the contract refuses forms that were made wrong. */
import type { SupplyHead } from '../../store/ledger-port.ts'
import { alone, type Pair, portContract, refuses } from '../../testing/ports/contract.ts'
import { type OverChain, supplyHeadsRules } from '../../testing/ports/supply-heads-rules.ts'
import type { Advanced, ChainHead, SupplyHeads } from '../ports/supply-heads.ts'
import { supplyHeadsInProcess } from './supply-heads.ts'

const over = (chain: SupplyHead[]): SupplyHeads =>
  supplyHeadsInProcess({ supplyHead: async () => chain.at(-1) })

function both(changed: (heads: SupplyHeads, chain: SupplyHead[]) => SupplyHeads): Pair<OverChain> {
  const chain: SupplyHead[] = []
  return alone({ heads: changed(over(chain), chain), chain })
}

type Advance = ChainHead['advance']

/** Heads that go on in another way. */
const going = (advance: (head: ChainHead, chain: SupplyHead[]) => Advance) => () =>
  both((heads, chain) => ({
    async open(none) {
      const head = await heads.open(none)
      return {
        get known() {
          return head.known
        },
        advance: advance(head, chain),
      }
    },
  }))

portContract('heads of the supply chain', supplyHeadsRules, () => both(heads => heads))

refuses<OverChain>('heads of the supply chain', supplyHeadsRules, [
  [
    'that each process keeps for itself',
    () => {
      const chain: SupplyHead[] = []
      return { ...alone({ heads: over(chain), chain }), other: { heads: over(chain), chain } }
    },
    'gives each work the record that the one before it added',
  ],
  [
    'that waits for nobody',
    going(head => async work => {
      const { answer, head: next } = await work(head.known)
      await head.advance(async () => ({ answer, head: next }))
      return answer
    }),
    'does no two works at a time',
  ],
  [
    'that goes back after a fault',
    going(head => async work => {
      let thrown: unknown
      const kept = await head.advance(async before => {
        const tried = await work(before).catch((error: unknown): Advanced<never> | undefined => {
          thrown = error
          return undefined
        })
        return tried ?? { answer: undefined as never, head: before }
      })
      if (thrown !== undefined) throw thrown
      return kept
    }),
    'finds out what a work that threw has added',
  ],
])
