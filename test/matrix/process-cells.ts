/** The hardest cells over real processes: what waits together in one pair of nodes, and what happens to it there. */

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { faultyDisk } from '../../hub/testing/disk.ts'
import { GRANTED, PRICE, type ProcessWorld, type Reply } from './process-world.ts'

const HANG_MS = 22_000
const AWAY_MS = 3000
const SETTLED_MS = 11_000
const SETTLE = '/x402/settle'
const CAPTURE = '/x402/capture'
const ACK = '/relay/ack'
const POLL = '/relay/poll'

/** Tasks by what waits in them, under their ids. */
export type Prepared = { held: string; captured: string; authorized: string }
export type Happening = {
  name: string
  /** How long the nodes have been at the hub before anything waits. */
  afterMs?: number
  /** Whether the hub may refuse an authorization that was made before. */
  mayVoid?: true
  /** The hub is two processes over one database. */
  isShared?: true
  happen(world: ProcessWorld, prepared: Prepared): Promise<void>
}

type Turn = { text: string; mine: boolean; delivery?: { state: string } }
type Paid = { state: string; paid_as?: string; moved?: number; problem?: string }
type Thread = { state: string; turns: Turn[]; payment?: Paid }

const thread = async (world: ProcessWorld, who: string, id: string): Promise<Thread> =>
  (await world.ask(who, '/thread', { interaction_id: id })) as Thread
const say = (world: ProcessWorld, who: string, id: string, text: string): Promise<Reply> =>
  world.ask(who, '/message', { interaction_id: id, text })
const hasText = ({ turns }: Thread, words: string): boolean => turns.some(({ text }) => text === words)
const stateAt = async (world: ProcessWorld, who: string, id: string) =>
  (await thread(world, who, id)).payment?.state

/** A task that alice pays for, up to the authorization: the id of the one that was delegated with it. */
async function paid(world: ProcessWorld, task: string): Promise<string> {
  const given = { to: world.aids.bob, task, pay: true, max_credits: PRICE }
  const quoted = (await world.ask('alice', '/delegate', given))['interaction_id'] as string
  let id = ''
  await world.until(`${task} is paid for`, async () => {
    id = (await thread(world, 'alice', quoted)).payment?.paid_as ?? ''
    return id !== ''
  })
  return id
}

async function held(world: ProcessWorld, task: string): Promise<string> {
  const id = await paid(world, task)
  await world.until(`${task} is held`, async () => (await stateAt(world, 'bob', id)) === 'held')
  return id
}

/** Everything that waits at once, for bob or by his hand. */
export async function prepare(world: ProcessWorld): Promise<Prepared> {
  const line = world.line('bob')
  const first = await held(world, 'held')
  const captured = await held(world, 'captured')
  line.lose(CAPTURE, 'answer')
  await say(world, 'bob', captured, 'answer to captured')
  await world.until('the answer to the order is lost', () => line.lostOf(CAPTURE) > 0)
  line.lose(SETTLE, 'request')
  const authorized = await paid(world, 'authorized')
  await world.until('the authorization does not get through', () => line.lostOf(SETTLE) > 0)
  line.lose(ACK, 'request')
  await say(world, 'alice', first, 'taken')
  await world.until('bob has it', async () => hasText(await thread(world, 'bob', first), 'taken'))
  line.lose(POLL, 'request')
  await say(world, 'alice', first, 'at the hub')
  await world.until('it is at the hub', async () => {
    const { turns } = await thread(world, 'alice', first)
    return turns.some(({ text, delivery }) => text === 'at the hub' && delivery?.state === 'at_hub')
  })
  return { held: first, captured, authorized }
}

/** Bob dies at the first commit about a payment. */
async function dieAt(world: ProcessWorld, place: 'before' | 'after'): Promise<void> {
  const { kills } = world
  await world.end('bob')
  world.heal()
  world.start('bob', { SVC_FAULT: `node.payment.${place}-commit` })
  await world.until('bob was killed', () => world.kills > kills)
}

export const happenings: readonly Happening[] = [
  { name: 'its key is rotated', happen: async world => void (await world.ask('bob', '/id/rotate')) },
  {
    name: 'it is restored from a backup',
    async happen(world) {
      const file = join(world.folder, 'bob.svc')
      await world.nodeCommand('bob', 'backup', file)
      await world.end('bob')
      rmSync(world.dir('bob'), { recursive: true })
      await world.nodeCommand('bob', 'restore', file)
      world.start('bob')
    },
  },
  {
    name: 'the hub is restored from a backup',
    mayVoid: true,
    async happen(world) {
      const folder = join(world.folder, 'hub-backup')
      await world.hubCommand('hub', 'backup', folder)
      await world.end('hub')
      rmSync(world.dir('hub'), { recursive: true })
      await world.hubCommand('hub', 'restore', folder)
      await world.startHub('hub')
    },
  },
  {
    name: 'a copy of it is started on another machine',
    // whoever came to the hub at the same moment is not known to be first
    afterMs: SETTLED_MS,
    async happen(world, { held }) {
      // a copy can tell that it is one while the first is at the hub
      world.line('bob').heal(POLL)
      await world.until('bob hears the hub', async () =>
        hasText(await thread(world, 'bob', held), 'at the hub'),
      )
      const copy = await world.startCopy('bob')
      world.heal()
      await world.until('the copy knows that it is one', async () => {
        return (await world.ask(copy, '/status', undefined, 'GET'))['old_copy'] === true
      })
      await world.end(copy)
    },
  },
  { name: 'it is killed before its next commit', happen: world => dieAt(world, 'before') },
  { name: 'it is killed after its next commit', happen: world => dieAt(world, 'after') },
  {
    name: 'the hub hangs for a while',
    async happen(world) {
      world.heal()
      world.signal('hub', 'SIGSTOP')
      await pause(HANG_MS)
      world.signal('hub', 'SIGCONT')
    },
  },
  {
    name: 'a process of the hub is lost',
    isShared: true,
    async happen(world) {
      world.heal()
      world.loseProcess()
    },
  },
  {
    name: 'the database of the hub is lost for a while',
    isShared: true,
    async happen(world) {
      world.heal()
      await world.database?.halt('SIGQUIT')
      await pause(AWAY_MS)
      await world.database?.resume()
    },
  },
  {
    name: 'its disk has no room for a while',
    async happen(world) {
      const full = join(world.folder, 'full')
      await world.end('bob')
      // the library looks for the file that a hub gives up
      writeFileSync(join(world.dir('bob'), 'reserve'), '')
      world.start('bob', faultyDisk(world.dir('bob'), { fullWhile: full }))
      await world.ask('bob', '/status', undefined, 'GET')
      writeFileSync(full, '')
      world.heal()
      await pause(3000)
      rmSync(full)
    },
  },
  {
    name: 'it moves to another hub and back',
    async happen(world) {
      await world.openHub('hub-2')
      await world.join('hub-2', ['bob'])
      await pause(AWAY_MS)
      await world.join('hub', ['bob'])
    },
  },
]

/** What must hold of each row in the end; every one rejects with what does not. */
export const rows: readonly {
  name: string
  end(world: ProcessWorld, prepared: Prepared, happening: Happening): Promise<void>
}[] = [
  { name: 'a hold', end: (world, { held: id }) => answered(world, id, 'held') },
  {
    name: 'an order whose answer was lost',
    end: (world, { captured: id }) => taken(world, id, 'answer to captured'),
  },
  {
    name: 'an authorization that is not settled',
    async end(world, { authorized: id }, { mayVoid }) {
      let state: string | undefined
      await world.until('the hub has said whether it pays', async () => {
        state = await stateAt(world, 'bob', id)
        return state === 'held' || (mayVoid === true && state === 'refused')
      })
      if (state === 'held') return answered(world, id, 'authorized')
      // her node knows that bob says so, and asks the hub
      await world.until('alice knows it', async () => {
        const { payment } = await thread(world, 'alice', id)
        return payment?.state !== 'authorized' || payment.problem === 'said_refused'
      })
    },
  },
  {
    name: 'a message that was delivered and is not confirmed',
    end: (world, { held: id }) => arrived(world, id, 'taken'),
  },
  { name: 'a message at the hub', end: (world, { held: id }) => arrived(world, id, 'at the hub') },
]

async function answered(world: ProcessWorld, id: string, task: string): Promise<void> {
  await say(world, 'bob', id, `answer to ${task}`)
  await taken(world, id, `answer to ${task}`)
}

/** The answer is there once, and the credits were taken for it on both sides. */
async function taken(world: ProcessWorld, id: string, answer: string): Promise<void> {
  let seen = ''
  await world
    .until('', async () => {
      const [payer, payee] = await Promise.all(['alice', 'bob'].map(who => thread(world, who, id)))
      const times = payer?.turns.filter(({ text }) => text === answer).length
      seen = `${payer?.payment?.state} ${payee?.payment?.state} ${times}`
      return seen === 'taken taken 1'
    })
    .catch(() => Promise.reject(new Error(`${answer}: ${seen}`)))
}

/** It is there once, and its sender knows. */
async function arrived(world: ProcessWorld, id: string, words: string): Promise<void> {
  let seen = ''
  await world
    .until('', async () => {
      const [from, to] = await Promise.all(['alice', 'bob'].map(who => thread(world, who, id)))
      const times = to?.turns.filter(({ text }) => text === words).length
      seen = `${from?.turns.find(({ text }) => text === words)?.delivery?.state} ${times}`
      return seen === 'delivered 1'
    })
    .catch(() => Promise.reject(new Error(`${words}: ${seen}`)))
}

/** What no entry of the hub's ledger explains. */
export async function unexplained(world: ProcessWorld, { authorized }: Prepared): Promise<string[]> {
  const found: string[] = []
  for (const who of ['alice', 'bob'] as const) {
    const { agrees, open } = await world.ask(who, '/reconcile')
    if (agrees !== true || (open as object[]).length > 0)
      found.push(`${who}: ${JSON.stringify({ agrees, open })}`)
  }
  const paidFor = (await stateAt(world, 'bob', authorized)) === 'taken' ? 3 : 2
  const account = await world.ask('alice', '/balance', undefined, 'GET')
  const left = { balance: world.had.alice - paidFor * PRICE, held: 0 }
  if (account['balance'] !== left.balance || account['held'] !== 0)
    found.push(
      `alice has ${account['balance']} and ${account['held']} held of ${GRANTED}, and should have ${left.balance}`,
    )
  return found
}
