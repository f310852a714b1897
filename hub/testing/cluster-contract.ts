/** For tests: the contracts of what processes remember, over two memories of one database. */
import { setTimeout as pause } from 'node:timers/promises'
import { systemNow, systemTimers } from '../../protocol/timers.ts'
import { KeptLink } from '../cluster/kept-link.ts'
import { type Cluster, joinCluster } from '../cluster/memory.ts'
import { supplyHeadsOver } from '../cluster/supply-heads.ts'
import { Word } from '../cluster/word.ts'
import type { Memory } from '../core/ports/memory.ts'
import { systemRandom } from '../core/random.ts'
import type { SupplyHead } from '../store/ledger-port.ts'
import type { Connections } from '../store/postgres/connections.ts'
import type { Link } from '../store/postgres/link.ts'
import { WatchedConnections } from '../store/postgres/watched.ts'
import { cachesRules } from './ports/caches-rules.ts'
import { type Pair, portContract, type Rule } from './ports/contract.ts'
import { guestsRules } from './ports/guests-rules.ts'
import { leaderRules } from './ports/leader-rules.ts'
import { ratesRules } from './ports/rates-rules.ts'
import { replayRules } from './ports/replay-rules.ts'
import { sessionsRules } from './ports/sessions-rules.ts'
import { sharesRules } from './ports/shares-rules.ts'
import { type OverChain, supplyHeadsRules } from './ports/supply-heads-rules.ts'
import { wakeUpsRules } from './ports/wake-ups-rules.ts'

/** Longer than word takes. */
const TOLD_MS = 60
const SECRET = new Uint8Array(32).fill(7)
const REMEMBERED =
  'TRUNCATE memory_began, process, signed_time, sending_session, contact_count, contact_waiting, visit'

/** How this database is reached. */
export type Reached = { connect: () => Connections; openLink: () => Promise<Link> }

/** As after the first migration. */
export async function forgetAll(connections: Connections): Promise<void> {
  await connections.run(REMEMBERED)
  await connections.run('INSERT INTO memory_began (at_ms) VALUES (0)')
}

export function joinForTest({ connect, openLink }: Reached): Promise<Cluster & { end(): Promise<void> }> {
  const connections = new WatchedConnections(connect())
  const store = { supplyHead: async () => undefined, strangersWaiting: async () => 0 }
  const outside = { random: systemRandom, now: systemNow, timers: systemTimers, release: 'test' }
  const copies = () => ({ history: ['00'], peers: '' })
  const joined = joinCluster({ connections, openLink, store, secret: SECRET, copies, ...outside })
  return joined.then(cluster => ({
    ...cluster,
    get isLinked() {
      return cluster.isLinked
    },
    async end() {
      await cluster.close()
      await connections.close()
    },
  }))
}

const told = () => pause(TOLD_MS)

async function pairOf<P>(reached: Reached, port: (memory: Memory) => P): Promise<Pair<P>> {
  const [one, other] = [await joinForTest(reached), await joinForTest(reached)]
  // the first one counts the second one too
  await one.processes.look()
  const end = async () => {
    await Promise.all([one.end(), other.end()])
    const connections = reached.connect()
    await forgetAll(connections)
    await connections.close()
  }
  return { one: port(one.memory), other: port(other.memory), told, end }
}

async function headsOf({ connect, openLink }: Reached): Promise<Pair<OverChain>> {
  const chain: SupplyHead[] = []
  const open = async (name: string) => {
    const [connections, link] = [connect(), new KeptLink(openLink, systemTimers)]
    const word = new Word(link, systemTimers, name)
    await link.start()
    const store = { supplyHead: async () => chain.at(-1) }
    const ended: (() => void)[] = []
    const heads = supplyHeadsOver({
      ...{ connections, word, store },
      timers: systemTimers,
      atEnd: work => ended.push(work),
    })
    return {
      heads,
      chain,
      end() {
        for (const work of ended) work()
        return Promise.all([link.close(), connections.close()])
      },
    }
  }
  const [one, other] = [await open('one'), await open('other')]
  const end = async () => {
    await Promise.all([one.end(), other.end()])
  }
  return { one, other, told, end }
}

/** Declares all contracts; `hasLocks`: connections have locks of their own. */
export function clusterContract(engine: string, reached: () => Reached, { hasLocks }: { hasLocks: boolean }) {
  const over = <P>(form: string, rules: readonly Rule<P>[], port: (memory: Memory) => P) =>
    portContract(`${form} over ${engine}`, rules, () => pairOf(reached(), port))
  over('replay', replayRules, ({ replay }) => replay)
  over('sessions', sessionsRules, ({ sessions }) => sessions)
  over('shares', sharesRules, ({ shares }) => shares)
  over('guests', guestsRules, ({ guests }) => guests)
  over('rates', ratesRules, ({ rates }) => rates)
  over('wake-ups', wakeUpsRules, ({ wakeUps }) => wakeUps)
  over('caches', cachesRules, ({ caches }) => caches)
  if (hasLocks) over('leader', leaderRules, ({ leader }) => leader)
  portContract(`heads of the supply chain over ${engine}`, supplyHeadsRules, () => headsOf(reached()))
}
