/** The contract of the head of the supply chain. */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Advanced, ChainHead, SupplyHeads } from '../../core/ports/supply-heads.ts'
import type { SupplyHead } from '../../store/ledger-port.ts'
import type { Pair, Rule } from './contract.ts'

/** The head of one process, over a chain that stands for what the store has. */
export type OverChain = { heads: SupplyHeads; chain: SupplyHead[] }

const NONE: SupplyHead = { seq: -1, id: new Uint8Array(32) }
const recordOf = (seq: number): SupplyHead => ({ seq, id: new Uint8Array(32).fill(seq + 1) })

async function opened({
  one,
  other,
}: Pair<OverChain>): Promise<{ here: ChainHead; there: ChainHead; chain: SupplyHead[] }> {
  return { here: await one.heads.open(NONE), there: await other.heads.open(NONE), chain: one.chain }
}

/** Work that adds the record after the head that it is given. */
const adding =
  (chain: SupplyHead[]) =>
  async (head: SupplyHead): Promise<Advanced<number>> => {
    const next = recordOf(head.seq + 1)
    await setImmediate()
    chain.push(next)
    return { answer: next.seq, head: next }
  }

export const supplyHeadsRules: readonly Rule<OverChain>[] = [
  [
    'begins with the head of the store, or with none',
    async pair => {
      const { here, chain } = await opened(pair)
      expect(here.known).toEqual(NONE)
      chain.push(recordOf(0))
      expect((await pair.other.heads.open(NONE)).known).toEqual(recordOf(0))
    },
  ],
  [
    'gives each work the record that the one before it added, in whichever process',
    async pair => {
      const { here, there, chain } = await opened(pair)
      expect([await here.advance(adding(chain)), await there.advance(adding(chain))]).toEqual([0, 1])
      expect(there.known).toEqual(recordOf(1))
      await pair.told()
      expect(here.known).toEqual(recordOf(1))
    },
  ],
  [
    'does no two works at a time',
    async pair => {
      const { here, there, chain } = await opened(pair)
      const works = Array.from({ length: 8 }, (_, at) => (at % 2 ? here : there).advance(adding(chain)))
      expect((await Promise.all(works)).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      expect(chain).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map(recordOf))
    },
  ],
  [
    'knows within a work what the work was given',
    async pair => {
      const { here, there, chain } = await opened(pair)
      await here.advance(adding(chain))
      const same = await there.advance(async head => ({ answer: there.known.seq === head.seq, head }))
      expect(same).toBe(true)
    },
  ],
  [
    'stays where it was after a work that adds nothing',
    async pair => {
      const { here, there, chain } = await opened(pair)
      await here.advance(adding(chain))
      expect(await there.advance(async head => ({ answer: 'nothing', head }))).toBe('nothing')
      expect(await here.advance(adding(chain))).toBe(1)
    },
  ],
  [
    'finds out what a work that threw has added, and goes on',
    async pair => {
      const { here, there, chain } = await opened(pair)
      const lost = here.advance(async head => {
        await adding(chain)(head)
        throw new Error('its answer was lost')
      })
      await expect(lost).rejects.toThrow('its answer was lost')
      expect(await there.advance(adding(chain))).toBe(1)
      await expect(here.advance(() => Promise.reject(new Error('nothing was added')))).rejects.toThrow()
      expect(await here.advance(adding(chain))).toBe(2)
    },
  ],
]
