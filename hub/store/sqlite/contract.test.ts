/** SQLite keeps the contract of the store, and the contract refuses engines that were made wrong. */
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemTimers } from '../../../protocol/timers.ts'
import { systemRandom } from '../../core/random.ts'
import { storeDirectory } from '../../testing/begun-directory.ts'
import type { Opened } from '../../testing/contract/world.ts'
import { KeptThreads } from '../../testing/kept-threads.ts'
import { brokenBy, contract, storeContract } from '../../testing/store-contract.ts'
import { type Watched, watchedContract } from '../../testing/watched-contract.ts'
import { withChanges, wrongEngines } from '../../testing/wrong-engines.ts'
import { openStore } from './open.ts'
import { ChainsFile } from './watched-chains.ts'

// a thread that another store has left has read its code already
const outside = { timers: systemTimers, random: systemRandom, threads: new KeptThreads() }

const TIMEOUT_MS = 120_000

async function open(): Promise<Opened> {
  const directory = storeDirectory('svc-hub-contract-')
  const start = () => openStore({ directory, release: 'test', ...outside, onBroken: () => undefined })
  let store = start()
  return {
    store,
    async reopen() {
      await store.close()
      store = start()
      return store
    },
    async end() {
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
}

storeContract('SQLite', open)
watchedContract('SQLite', async () => {
  const directory = storeDirectory('svc-hub-watched-')
  const store = openStore({ directory, release: 'test', ...outside, onBroken: () => undefined })
  const chains: Watched['chains'] = [ChainsFile.open(directory), ChainsFile.open(directory)]
  return {
    ...{ store, chains },
    async end() {
      for (const one of chains) await one.close()
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
})

test.each(Object.entries(wrongEngines))(
  'the contract suite refuses an engine %s',
  async (_, { rules, breaks, changes }) => {
    const broken = await brokenBy(withChanges(open, changes), contract[rules])
    expect(broken).toMatch(new RegExp(`^${breaks}`))
  },
  TIMEOUT_MS,
)

test(
  'behind the same wrapping, an engine that changes nothing keeps every rule; no operation goes unasked',
  async () => {
    const unasked = new Set<string>()
    let hasBegun = false
    const noted = withChanges(open, store => {
      const operations = Object.entries(store).filter(([, one]) => typeof one === 'function')
      if (!hasBegun) for (const [name] of operations) unasked.add(name)
      hasBegun = true
      return Object.fromEntries(
        operations.map(([name, operation]) => [
          name,
          (...given: unknown[]) => {
            unasked.delete(name)
            return operation(...given)
          },
        ]),
      )
    })
    expect(await brokenBy(noted, Object.values(contract).flat())).toBeUndefined()
    expect([...unasked]).toEqual(['close'])
  },
  TIMEOUT_MS,
)
