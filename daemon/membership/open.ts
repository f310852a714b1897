/** Puts together how this node stands at its hubs, from the bottom up. */
import type { Context } from '../context.ts'
import type { HubClient, HubInputs } from '../hubs/hub.ts'
import { type HubDoors, hubDoors } from '../hubs/open.ts'
import { PowSolver } from '../hubs/pow.ts'
import { queueCapabilities } from '../sealed/top-ups.ts'
import { taskParts } from '../tasks/open.ts'
import { Accounts } from './accounts.ts'
import { Admission } from './clock-ahead.ts'
import { HomeHub } from './home-hub.ts'
import { Joining } from './joining.ts'
import { KeyEvents } from './key-events.ts'
import { OwnKeySet } from './key-set.ts'
import { KeyState } from './key-state.ts'
import { KnownHubs } from './known-hubs.ts'
import { Beginning, Membership } from './membership.ts'
import { Newest } from './newest.ts'
import { OwnAddress } from './own-address.ts'
import { OwnLog } from './own-log.ts'
import { OwnProfile } from './profile.ts'
import { PushedLog } from './push-log.ts'
import { RegisterCall, Registration } from './registration.ts'
import { Reseal, type SignedAnew } from './reseal.ts'
import { sendRevocations } from './revocations.ts'
import { Rounds } from './rounds.ts'
import { Sync } from './sync.ts'
import { ThisCopy } from './this-copy.ts'
import { ToldContacts } from './told-contacts.ts'

export type OpenedMembership = { membership: Membership; sync: Sync }

/** How this node stands, and what brings its home up to date. */
export function openMembership(
  ctx: Context,
  inputs: HubInputs,
  doors: HubDoors = hubDoors,
): OpenedMembership {
  const { identity, keys, store, chain, hub, settings, wakers, log, now, timers } = ctx
  const wakeMail = () => {
    wakers.relay.wake()
    wakers.outbox.wake()
  }
  const wake = () => {
    for (const waker of [wakers.payments, wakers.spending, wakers.audits]) waker.wake()
  }
  const keyState = keyStateOf(ctx)
  const pushedLog = new PushedLog(identity, store, log)
  const known = new KnownHubs(store, doors, inputs)
  const profile = new OwnProfile({ identity, store, settings, modules: ctx.modules }, now)
  const { contacts, peers, threads, hubNow } = ctx
  const told = new ToldContacts({ settings, contacts, peers, store, threads }, hubNow)
  const address = new OwnAddress({ identity, settings, contacts: told }, now)
  const keySet = new OwnKeySet(identity, keys, settings)
  const solver = new PowSolver(store, ctx)
  const call = new RegisterCall({ identity, keySet, profile, address, pushedLog, log })
  const registration = new Registration({ hub, keyState, solver, call, wakeMail })
  const sync = new Sync({ hub, keyState, keySet, profile, pushedLog, registration })
  const home = new HomeHub({ hub, known, store, wakeMail, now })
  const accounts = new Accounts({ hub, known, pushedLog, address, keyState, now })
  const ownLog = new OwnLog({ identity, keys, store, hub }, ctx)
  const copy = new ThisCopy(ctx.dir, store, now)
  const newest = new Newest({ hub, home, accounts, ownLog, copy, sync, wake }, ctx, ctx.timings)
  const admission = new Admission({ identity, keys, store, chain, events: ctx.events }, ctx)
  const revoke = (at: HubClient) => sendRevocations(store, ctx.now, at)
  const parts = {
    beginning: new Beginning({ hub, known, newest, keyState, log }),
    newest,
    joining: new Joining({ home, known, admission, keyState, newest, sync }, store, wakeMail),
    keyEvents: new KeyEvents({ hub, keyState, sync, accounts, timers }, wakeMail),
    accounts,
    rounds: new Rounds({ hub, newest, profile, address, sync, revoke }, log),
    home,
    address,
  }
  return { membership: new Membership(parts, hub, wakers.rounds), sync }
}

/** What a key event leaves to be done. */
export function keyStateOf(ctx: Context): KeyState {
  const { identity, keys, store, capabilities, threads, events, now } = ctx
  const { ownReceipts, counterSigner, unsentPayments } = taskParts(ctx)
  const anew: SignedAnew = {
    receipt: interaction => ownReceipts.make(interaction),
    counterSignature: (interaction, given) => counterSigner.remake(interaction, given),
    payments: () => unsentPayments.resign(),
    capabilities: peer => queueCapabilities(ctx.threads, peer),
  }
  const reseal = new Reseal({ store, threads, events, anew, now })
  return new KeyState({ identity, keys, store, capabilities, reseal }, now)
}
