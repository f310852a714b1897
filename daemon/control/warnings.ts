/** What the owner of a node should know and do something about. */
import { statSync } from 'node:fs'
import type { Sandbox } from '../../autoreply/sandbox.ts'
import { buildInfo } from '../../protocol/build-info.ts'
import { shellWord } from '../../protocol/shell.ts'
import { copyWarnings, hasTakenOver } from '../chain/place.ts'
import { type Config, controlHost, LOOPBACK_HOSTS, settingsWithoutEffect } from '../home/config.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { keyWarning } from '../identity/key-warning.ts'
import { hasClaim } from '../mail/claims.ts'
import { refusingHubs } from '../payments/previous-accounts.ts'
import type { Contacts } from '../peers/contacts.ts'
import { REWRITTEN } from '../peers/heads.ts'
import { counted } from '../store/counters.ts'
import { alarmed, alarmOf, witnessedOf } from '../store/hub-accounts.ts'
import { urlOfLeft } from '../store/hubs.ts'
import { contradictedInteractions } from '../store/interactions.ts'
import type { DeliveryState } from '../store/messages.ts'
import type { Store } from '../store/open.ts'
import { awaitingHubs } from '../store/outbox-sizes.ts'
import type { ControlAddress } from './address.ts'
import { ALONE } from './console.ts'
import { paymentWarnings } from './payment-warnings.ts'

/** Where warnings come from: what it says now, in its order. */
export type WarningSource = () => readonly (string | undefined)[]

export class Warnings {
  readonly #sources: readonly WarningSource[]
  readonly #quoting: readonly WarningSource[]

  /** `quoting`: those whose sentences quote a hub or a program. */
  constructor(sources: readonly WarningSource[], quoting: readonly WarningSource[]) {
    this.#sources = sources
    this.#quoting = quoting
  }

  list(): string[] {
    return this.#sources.flatMap(source => source().filter(sentence => sentence !== undefined))
  }

  /** Those of the warnings that quote a hub or a program. */
  quoting(): string[] {
    return this.#quoting.flatMap(source => source().filter(sentence => sentence !== undefined))
  }
}

const when = (holds: boolean, sentence: string | undefined): string | undefined =>
  holds ? sentence : undefined

/** Who else could come at this node, or at what it keeps. */
export function openDoors(config: Config, dir: string): (string | undefined)[] {
  const host = controlHost(config)
  return [
    when(
      !LOOPBACK_HOSTS.includes(host),
      `the control interface listens on ${host}: anyone who can reach it and has the token controls this node`,
    ),
    when(
      (statSync(dir).mode & 0o077) !== 0,
      `other users of this machine can enter the data directory; tighten it with: chmod 700 ${dir}`,
    ),
  ]
}

export const unaskedWarning = ({ oldCopy, unsettled, unasked }: CurrentHub): string | undefined =>
  when(oldCopy === undefined && unsettled === undefined, unasked)

export const unsettledWarning = ({ oldCopy, unsettled }: CurrentHub): string | undefined =>
  when(oldCopy === undefined, unsettled)

export const identityWarning = ({ log, hasNextKey }: Identity): string | undefined =>
  keyWarning({ deactivated: log.deactivated, hasNextKey })

/** What keeps credits of the home from being paid with, and payments from their end. */
export const paymentsInDoubt = (store: Store, hub: CurrentHub, now: () => number): (string | undefined)[] => [
  creditsWarning(store, hub),
  witnessWarning(store, hub),
  ...paymentWarnings(store, now),
]

export const settingsInDoubt = (settings: Settings): (string | undefined)[] => [
  settingsWarning(settings.current),
  settings.editedWarning(),
]

/** Where the control interface does not listen as it was set. */
export const controlWarnings = (control: ControlAddress): (string | undefined)[] => [
  when(
    control.missed !== undefined,
    `config.json: control_addr ${control.missed} is in use by another program, so this node listens on ${control.bound}; send the token to no other address`,
  ),
  when(control.isAlone, `${ALONE} (${control.bound})`),
]

/** What answers by itself: `fault`, why it does not run; `lastFailure`, why its last answer failed. */
export type Answering = {
  readonly fault: string | undefined
  readonly lastFailure: string | undefined
  /** What holds the program that answers. */
  readonly sandbox: Sandbox | undefined
}

export function answeringWarnings(answering: Answering, config: Config): (string | undefined)[] {
  const { sandbox, fault, lastFailure } = answering
  return [
    when(
      sandbox?.kind === 'none' && config.auto_reply?.sandbox !== false,
      `the program that answers tasks is in no sandbox (${sandbox?.kind === 'none' ? sandbox.why : ''}): what it can be talked into, it can do with your files and your network; install bubblewrap and restart the node, or accept it with: svc autoreply set --no-sandbox`,
    ),
    toolsWarning(config),
    notRunning(fault),
    lastFailure,
  ]
}

export const notRunning = (fault: string | undefined): string | undefined =>
  fault === undefined ? undefined : `auto-reply is not running: ${fault}`

/** Whether this identity lives elsewhere as well. */
export const livesElsewhere = (store: Store, hub: CurrentHub): (string | undefined)[] => [
  when(
    counted(store, 'notice_differs') > 0,
    'the hub showed a key state for this identity that differs from the one held here',
  ),
  when(
    hub.twinSeen && hub.oldCopy === undefined && !hasTakenOver(store),
    'this identity is also running on another machine, which was started later; stop it there',
  ),
]

export const quarantineWarning = ({ isQuarantined }: { isQuarantined: boolean }): string | undefined =>
  when(
    isQuarantined,
    'the evidence chain is quarantined because two records share a sequence number; no more receipts are signed',
  )

/** What correspondents say, or have signed, that does not agree with what is here. */
export const correspondentsInDoubt = (store: Store, contacts: Contacts): (string | undefined)[] => [
  ...contacts
    .list()
    .map(({ aid, petname }) =>
      when(
        petname !== null && hasClaim(store, aid),
        `${petname} says that it holds messages from this node that are not here, which may be untrue; only if these files came from a backup, restore a newer one`,
      ),
    ),
  when(
    contradictedInteractions(store) > 0,
    'a provider signed two receipts of one task that contradict each other; both are kept, and the task takes no review',
  ),
  when(
    counted(store, REWRITTEN) > 0,
    'a correspondent signed two different heads of its evidence chain at one length: it rewrote or cut that chain, or put a backup back; svc evidence --type svc.peer.rewritten shows who',
  ),
]

/** An old copy is told that it is one, and nothing else of other copies. */
export function twinWarnings(store: Store, hub: CurrentHub, now: number): string[] {
  if (hub.oldCopy !== undefined || (hub.twinSeen && !hasTakenOver(store))) return []
  return copyWarnings(store, now)
}

export function creditsWarning(store: Store, hub: CurrentHub): string | undefined {
  const { home } = hub
  const alarm = home && alarmOf(store, home.identity.aid)
  return alarm === undefined
    ? undefined
    : `nothing is paid in credits of ${home?.url}: ${alarm}; svc audit-hub --all shows it, and svc audit-hub --accept goes on`
}

/** Other hubs that do not answer the own one; what waits for them goes on by itself. */
export function silentHubs(
  store: Store,
  homeOf: (peer: string) => string | undefined,
  nameOf: (peer: string) => string,
): string[] {
  const waiting = new Map<string, number>()
  for (const { peer, hub, messages } of awaitingHubs(store)) {
    const named = hub ?? homeOf(peer) ?? `of ${nameOf(peer)}`
    waiting.set(named, (waiting.get(named) ?? 0) + messages)
  }
  return [...waiting].map(
    ([hub, count]) =>
      `the hub ${hub} does not answer the hub of this node; ${count === 1 ? 'a message waits' : `${count} messages wait`} for it, and nothing is lost: ask its operator where it takes long`,
  )
}

/** Hubs that were left, hold something of this node, and do not show it. */
export const previousWarnings = (store: Store): string[] =>
  refusingHubs(store).map(
    ({ url, code }) =>
      `${url}, which this node left, refuses to show its account there (${code}), and credits or holds of it remain: svc balance --hub ${shellWord(url)} asks again; ask its operator where that fails`,
  )

/** Hubs that were left, and whose books do not agree with those of this node. */
export function previousAlarms(store: Store): string[] {
  return alarmed(store).flatMap(hub => {
    const url = urlOfLeft(store, hub)
    if (url === undefined) return []
    const audit = `svc audit-hub --hub ${shellWord(url)}`
    return [
      `the account at ${url}, which this node left, is in doubt: ${alarmOf(store, hub)}; ${audit} compares it again, and ${audit} --accept ends this warning`,
    ]
  })
}

/** Of a hub that had witnesses, as the last audit found it. */
function witnessWarning(store: Store, hub: CurrentHub): string | undefined {
  const { home } = hub
  const kept = home && witnessedOf(store, home.identity.aid)
  if (kept?.isStale !== true) return undefined
  const last = new Date(kept.lastMs).toISOString()
  return `no witness has watched the credits of ${home?.url} for more than 48 hours, the last one at ${last}; ask its operator, and pay no more than you can lose`
}

/** Said as long as a coding agent that reads what others wrote may use tools. */
function toolsWarning({ auto_reply }: Config): string | undefined {
  const { agent, command, tools = 'none' } = auto_reply ?? {}
  if (agent === undefined || command !== undefined || tools === 'none') return undefined
  return `${agent} answers tasks with tools (--tools ${tools}): what a task talks it into, it can do; take them away with: svc autoreply set --tools none`
}

/** Names what stands in the configuration in vain; also said at each start. */
export function settingsWarning(config: Config): string | undefined {
  const names = settingsWithoutEffect(config, buildInfo.modules)
  if (names.length === 0) return undefined
  return `config.json: ${names.join(', ')} ${names.length === 1 ? 'has' : 'have'} no effect in this build`
}

/** Why what was just committed does not leave this machine now, or is not answered. */
export function waitingWarning(hub: CurrentHub, delivery: DeliveryState | null = null): string | undefined {
  if (hub.home !== undefined) return stoppedWarning(hub) ?? offlineWarning(hub, delivery)
  return 'this node is registered at no hub; what it sends waits here until svc hub-register <url> --name <name>'
}

/**
 * A node that has just started has not reached its hub yet, and has no reason to give. A hub of which no mail can be
 * fetched, as where the clocks differ, may take what is sent all the same.
 */
function offlineWarning({ state }: CurrentHub, delivery: DeliveryState | null): string | undefined {
  if (state.state !== 'offline' || state.reason === undefined) return undefined
  const then = hasLeft(delivery)
    ? 'this went out, and what comes back waits there until then'
    : 'this waits here until the hub takes it'
  return `no mail can be fetched from the hub now (${state.reason}); ${then}`
}

const hasLeft = (delivery: DeliveryState | null): boolean => delivery === 'at_hub' || delivery === 'delivered'

/** What a node that talks to its hub no longer says wherever something waits for that. */
export function stoppedWarning({ oldCopy, state }: CurrentHub): string | undefined {
  if (oldCopy !== undefined) return oldCopy
  return state.state === 'stopped' ? `this node no longer talks to its hub: ${state.reason}` : undefined
}
