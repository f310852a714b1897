/** What the operations share, put together: how tasks are shown, listed and waited for, and what the owner should know. */
import type { Context } from '../context.ts'
import { cardWarning } from '../membership/card.ts'
import { clockAheadWarning } from '../membership/clock-ahead.ts'
import { OtherHub } from '../payments/other-hub.ts'
import { contradictionWarnings } from '../peers/contradictions.ts'
import { roomWarning } from '../platform/room.ts'
import { ControlAddress } from './address.ts'
import { Changes } from './changes.ts'
import { Balances } from './credits.ts'
import { Directory } from './directory.ts'
import { Lists } from './listing.ts'
import { PaymentViews } from './payment-views.ts'
import { Restored } from './restored.ts'
import { taskRules } from './rules.ts'
import { InteractionViews } from './views.ts'
import { Waiting } from './waiting.ts'
import {
  type Answering,
  answeringWarnings,
  controlWarnings,
  correspondentsInDoubt,
  creditsWarning,
  identityWarning,
  livesElsewhere,
  notRunning,
  openDoors,
  paymentsInDoubt,
  previousAlarms,
  previousWarnings,
  quarantineWarning,
  settingsInDoubt,
  silentHubs,
  stoppedWarning,
  twinWarnings,
  unaskedWarning,
  unsettledWarning,
  Warnings,
} from './warnings.ts'

/** How tasks are read. */
export function taskReading(ctx: Context) {
  const { store, hub, peers, contacts, threads, attachments, events, now, hubNow } = ctx
  const { mayAcceptReceipt } = taskRules(ctx)
  const payments = new PaymentViews({ store, threads, otherHub: new OtherHub(hub, peers) }, hubNow)
  const views = new InteractionViews({ store, contacts, threads, attachments, payments, mayAcceptReceipt })
  const changes = new Changes(store, now)
  const lists = new Lists({ store, contacts, threads, views, changes })
  const waiting = new Waiting({ lists, changes, threads, events, now })
  const restored = new Restored(store, contacts, hubNow)
  return { payments, views, changes, lists, waiting, restored }
}

export function directoryOf({ identity, timers, store, contacts, peers, carriers, now }: Context): Directory {
  return new Directory({ identity, timers }, { store, contacts, peers, carriers }, now)
}

export function balancesOf({ identity, timers, store, threads, contacts }: Context): Balances {
  return new Balances({ identity, timers }, { store, threads, contacts })
}

const nobody: Answering = { fault: undefined, lastFailure: undefined, sandbox: undefined }

/** In their order: what keeps the node from its work first. */
export function warningsOf(ctx: Context, answering = nobody, control = new ControlAddress()): Warnings {
  const { dir, identity, store, chain, contacts, hub, settings, notices, now } = ctx
  const restored = new Restored(store, contacts, ctx.hubNow)
  const named = (aid: string) => contacts.petnameOf(aid) ?? aid
  const stopped = () => [stoppedWarning(hub)]
  const card = () => [cardWarning(store, hub.last)]
  return new Warnings(
    [
      () => openDoors(settings.current, dir),
      () => [unaskedWarning(hub), identityWarning(identity)],
      stopped,
      () => paymentsInDoubt(store, hub, now),
      () => [unsettledWarning(hub), roomWarning(dir), ...notices.current(now())],
      () => settingsInDoubt(settings),
      () => controlWarnings(control),
      () => [clockAheadWarning(store, identity.aid, now())],
      () => answeringWarnings(answering, settings.current),
      () => livesElsewhere(store, hub),
      card,
      () => [quarantineWarning(chain)],
      () => correspondentsInDoubt(store, contacts),
      () => [...twinWarnings(store, hub, now()), ...restored.warnings(hub)],
      () => contradictionWarnings(store, named),
      () => silentHubs(store, aid => ctx.peers.find(aid)?.log.home, named),
      () => [...previousWarnings(store), ...previousAlarms(store)],
    ],
    [stopped, () => [creditsWarning(store, hub), answering.lastFailure, notRunning(answering.fault)], card],
  )
}
