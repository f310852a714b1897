/** What happens meanwhile: to whoever waits, to the other side, to the hub, to the machine. */

import { setArchived } from '../../daemon/control/archiving.ts'
import type { Store } from '../../daemon/store/open.ts'
import { isOver, isRequester } from '../../daemon/tasks/standing.ts'
import { failWrites } from '../../daemon/testing/failing-store.ts'
import { DAY_MS, HOUR_MS } from '../../daemon/testing/node.ts'
import { type Post, refusedWith } from '../../daemon/testing/scripted-hub.ts'
import { heardIn } from './outcomes.ts'
import { isUpgraded, undoUpgrades } from './release-before.ts'
import type { Waiting } from './row.ts'
import type { Side } from './side.ts'
import type { MatrixWorld } from './world.ts'

/** Answers a column where it could not happen. */
export const IMPOSSIBLE = 'impossible'
type Outcome = typeof IMPOSSIBLE | undefined
type Happening = (waiting: Waiting) => Promise<Outcome> | Promise<void>
/** `like`: the column of which this one is a variant. */
export type Column = { name: string; like?: string; happen: Happening }
const { signal } = new AbortController()
const YEAR_MS = 365 * DAY_MS

const rotate = async ({ parts }: Side): Promise<void> => void (await parts.membership.rotate(signal))

/** As a release does that says the same in other words: nothing may hang on them. */
function wordAnew(store: Store): void {
  const kept = {
    outbox: 'last_error',
    messages: 'reason',
    interactions: 'reason',
    quotes: 'reason',
    payments: 'reason',
    reviews: 'reason',
  }
  for (const [table, column] of [...Object.entries(kept), ['interactions', 'receipt_note']])
    store.run(`UPDATE ${table} SET ${column} = 'in other words' WHERE ${column} IS NOT NULL`)
}

async function moveAndReturn({ world }: Waiting, side: Side): Promise<void> {
  const home = world.homeOf(side)
  const [elsewhere] = world.posts.filter(post => post !== home)
  await side.parts.membership.join(elsewhere?.url ?? '', signal)
  await world.turns(1)
  world.pass(HOUR_MS)
  await side.parts.membership.join(home.url, signal)
}

async function leaveAndReturn({ world }: Waiting, side: Side): Promise<void> {
  const { url } = world.homeOf(side)
  await side.parts.membership.leave(undefined)
  for (const one of world.sides) if (one !== side) await one.turn()
  world.pass(60_000)
  await side.parts.membership.join(url, signal)
}

/** Something else than what waits happens between backup and restore. */
async function goOn({ world }: Waiting): Promise<void> {
  await world.turns(2)
}

/** What a backup does not know: credits that its node signed away since, where it has some. */
async function payMeanwhile(side: Side): Promise<void> {
  const { balance } = side.world.homeOf(side).ledger.balanceOf(side.aid)
  if (balance > 0) await side.parts.wallet.redeem(side.hub, 1, 'meanwhile', signal)
}

export async function restoreHubs(waiting: Waiting, posts: readonly Post[]): Promise<void> {
  const restores = posts.map(post => post.backup())
  await goOn(waiting)
  waiting.world.noteHubRestored()
  for (const restore of restores) restore()
}

/** The process dies at its next commit, which may be a while away, or comes with the end of its work. */
async function kill({ here, world }: Waiting, place: 'before' | 'after'): Promise<Outcome> {
  here.killAt(place)
  for (const ms of [0, 10 * 60_000, HOUR_MS]) {
    world.pass(ms)
    if (here.kills === 0) await world.turns(1)
  }
  if (here.kills === 0) {
    await world.finishWork()
    await world.turns(2)
  }
  return here.kills === 0 ? IMPOSSIBLE : undefined
}

/** Nobody reaches a hub, or any, until it heals. */
export function unreached(world: MatrixWorld, posts: readonly Post[] = world.posts): void {
  for (const { hub } of world.sides.filter(side => posts.includes(world.homeOf(side))))
    for (const name of ['send', 'poll', 'deliveryStates', 'bucket', 'fetchLog'] as const)
      hub.answers({ ...hub.script, [name]: () => Promise.reject(world.unreached()) })
  for (const { ledger } of posts) {
    ledger.isAway = true
    for (const operation of ['settle', 'endOf', 'endHold', 'account', 'redeem'] as const)
      ledger.always(operation, { kind: 'lost_before' })
  }
}

const own: Column[] = [
  { name: 'its key is rotated', happen: ({ here }) => rotate(here) },
  {
    name: 'every sentence that it keeps is worded anew, and its key is rotated',
    like: 'its key is rotated',
    async happen({ here }) {
      wordAnew(here.ctx.store)
      await rotate(here)
    },
  },
  { name: 'it moves to another hub and back', happen: waiting => moveAndReturn(waiting, waiting.here) },
  { name: 'it leaves its hub and returns', happen: waiting => leaveAndReturn(waiting, waiting.here) },
  {
    name: 'it is restored from a backup',
    async happen(waiting) {
      const restore = await waiting.here.backUp()
      await payMeanwhile(waiting.here)
      await goOn(waiting)
      await restore()
    },
  },
  {
    name: 'it is restored from a backup that was made while it ran',
    like: 'it is restored from a backup',
    async happen(waiting) {
      const restore = waiting.here.backUpBeside()
      await goOn(waiting)
      await restore()
    },
  },
  {
    name: 'its person archives the task',
    async happen({ here, world, id }) {
      const interaction = here.ctx.threads.findById(id)
      if (interaction === undefined) return IMPOSSIBLE
      const { store, events } = here.ctx
      const outcome = attempt(() => setArchived(store, events, interaction, true))
      if (outcome === undefined) world.archived.set(here, { id, heard: heardIn(here, id) })
      return outcome
    },
  },
  {
    name: 'a copy of it is started on another machine',
    async happen({ here, world }) {
      await world.startCopy(here)
      await world.turns(1)
    },
  },
  {
    name: 'it is killed before its next commit',
    happen: waiting => kill(waiting, 'before'),
  },
  {
    name: 'it is killed after its next commit',
    happen: waiting => kill(waiting, 'after'),
  },
  {
    name: 'its disk fails for a while',
    async happen({ here, world }) {
      const disk = failWrites(here.ctx.store, { from: 1, count: Number.POSITIVE_INFINITY })
      for (let n = 0; n < 3; n++) {
        for (const side of world.sides) await side.turn().catch(() => undefined)
        world.pass(60_000)
      }
      if (disk.failed === 0) {
        await world.finishWork()
        for (const side of world.sides) await side.turn().catch(() => undefined)
      }
      disk.mend()
      return disk.failed === 0 ? IMPOSSIBLE : undefined
    },
  },
  {
    name: 'its clock goes forward by two days and back',
    async happen({ here, world }) {
      world.skews.set(here.name, 2 * DAY_MS)
      await world.turns(2)
      world.skews.delete(here.name)
    },
  },
  {
    name: 'its clock goes forward by a year and back, with no hub to tell it the time',
    like: 'its clock goes forward by two days and back',
    async happen({ here, world }) {
      unreached(world)
      world.skews.set(here.name, YEAR_MS)
      here.hub.skewMs = YEAR_MS
      await world.turns(2)
      world.skews.delete(here.name)
      here.hub.skewMs = 0
      world.heal()
    },
  },
  {
    name: 'its clock goes back by two days and forward',
    async happen({ here, world }) {
      world.skews.set(here.name, -2 * DAY_MS)
      await world.turns(2)
      world.skews.delete(here.name)
    },
  },
  {
    name: 'both nodes come from the release before',
    async happen({ world }) {
      for (const side of world.sides) await side.restart(undoUpgrades)
      return world.sides.every(({ node }) => isUpgraded(node.dir)) ? undefined : IMPOSSIBLE
    },
  },
  {
    name: 'its identity ends',
    happen: async ({ here }) => void (await here.parts.membership.deactivate(signal)),
  },
]

const hub: Column[] = [
  {
    name: 'the hub is restored from a backup',
    async happen(waiting) {
      await restoreHubs(waiting, waiting.world.posts)
    },
  },
  {
    name: 'the hub hangs for an hour',
    async happen({ world }) {
      unreached(world)
      await world.turns(2)
      world.pass(HOUR_MS)
      await world.turns(1)
      world.heal()
    },
  },
  {
    name: 'the hub refuses everything for an hour',
    like: 'the hub hangs for an hour',
    async happen({ world }) {
      const refused = () => Promise.reject(refusedWith('hub_busy', {}, 30_000))
      for (const { hub } of world.sides)
        hub.answers({ ...hub.script, send: refused, deliveryStates: refused, bucket: refused })
      for (const operation of ['settle', 'endHold', 'redeem'] as const)
        for (const { ledger } of world.posts)
          ledger.always(operation, { kind: 'refuse', reason: 'unavailable' })
      await world.turns(2)
      world.pass(HOUR_MS)
      world.heal()
    },
  },
]

const other: Column[] = [
  { name: 'the other side rotates its key', happen: ({ there }) => rotate(there) },
  {
    name: 'the other side moves to another hub and back',
    happen: waiting => moveAndReturn(waiting, waiting.there),
  },
  {
    name: 'the other side leaves and returns',
    like: 'the other side moves to another hub and back',
    happen: waiting => leaveAndReturn(waiting, waiting.there),
  },
  {
    name: 'the other side is restored from a backup',
    like: 'it is restored from a backup',
    async happen(waiting) {
      const restore = await waiting.there.backUp()
      await payMeanwhile(waiting.there)
      await goOn(waiting)
      await restore()
    },
  },
  {
    name: 'both sides are restored from backups',
    like: 'it is restored from a backup',
    async happen(waiting) {
      const restores = [await waiting.here.backUp(), await waiting.there.backUp()]
      await goOn(waiting)
      for (const restore of restores) await restore()
    },
  },
  {
    name: 'the other side blocks',
    async happen({ here, there }) {
      const { store, contacts, capabilities } = there.ctx
      store.transaction(() => {
        contacts.block(here.aid, true)
        capabilities.revokeIssued(here.aid)
      })
    },
  },
  {
    name: 'the other side takes back its capabilities',
    async happen({ here, there }) {
      const { store, capabilities } = there.ctx
      const issued = store.get('SELECT 1 FROM capabilities_issued WHERE peer = ?', here.aid)
      store.transaction(() => capabilities.revokeIssued(here.aid))
      return issued === undefined ? IMPOSSIBLE : undefined
    },
  },
  {
    name: 'the other side withdraws or declines',
    async happen({ there, id }) {
      const interaction = there.ctx.threads.findById(id)
      if (interaction === undefined || isOver(interaction)) return IMPOSSIBLE
      const { leaving } = there.tasks
      const step = () =>
        isRequester(interaction) ? leaving.cancel(interaction, 'no') : leaving.decline(interaction, 'no')
      return there.ctx.store.transaction(() => attempt(step))
    },
  },
  {
    name: 'the other side proposes to end',
    async happen({ there, id }) {
      const interaction = there.ctx.threads.findById(id)
      if (interaction === undefined) return IMPOSSIBLE
      return there.ctx.store.transaction(() => attempt(() => there.tasks.endings.propose(interaction)))
    },
  },
  {
    name: 'the other side disappears',
    async happen({ there }) {
      there.isAway = true
    },
  },
  {
    name: 'the identity of the other side ends',
    like: 'its identity ends',
    happen: async ({ there }) => void (await there.parts.membership.deactivate(signal)),
  },
]

/** What the state of the task does not allow is refused to the person, and changes nothing. */
function attempt(step: () => unknown): Outcome {
  try {
    step()
    return undefined
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    return IMPOSSIBLE
  }
}

export const columns: readonly Column[] = [...own, ...hub, ...other]
