/** Calls to a hub on a user's order: their failures by the codes of the control table. */
import { Refused } from '../../protocol/contract/client.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { causeCode, Failure } from '../../protocol/encoding/errors.ts'
import { plainLine } from '../../protocol/encoding/plain-text.ts'
import type { Timers } from '../../protocol/timers.ts'
import { ConfigError } from '../home/config.ts'
import { describe } from '../hubs/failures.ts'
import {
  ClocksApart,
  DatedAhead,
  HubHalted,
  HubStopped,
  NoHub,
  UnsealedHub,
  WireMisnamed,
} from '../hubs/hub.ts'
import { stepOfOperator } from '../hubs/kept-out.ts'
import { KeyRefused } from '../identity/identity.ts'
import { isOutOfRoom } from '../platform/room.ts'
import { refuse } from '../refusal.ts'

const WORDS_MAX = 500

type Own = { readonly aid: string }
/** For whom a hub is asked, and by which timers. */
export type Asker = { readonly identity: Own; readonly timers: Timers }

/**
 * `own`: this node's identity, the only one that a command to copy may name; a call may have made it anew. `again`: the
 * command that asked for the call, where nothing goes on by itself until it is given once more.
 */
export async function hubCall<T>(own: Own, work: () => Promise<T>, again?: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // a full disk of this machine is said as that
    if (error instanceof OperationRefused || error instanceof ConfigError || isOutOfRoom(error)) throw error
    return refuseFor(error, own, again)
  }
}

class HubLate extends Failure {
  override name = 'HubLate'
  constructor(ms: number) {
    super(`the hub did not answer within ${ms / 1000} s`)
  }
}

/** Somebody waits for the answer, and gives the node itself up after 30 s. */
const ASKED_MS = 10_000
const ORDERED_MS = 20_000

/** A question: it is given up in time, also while it is queued or its answer trickles in. */
export const hubAsked = <T>(
  { identity, timers }: Asker,
  ask: (signal: AbortSignal) => Promise<T>,
  ms = ASKED_MS,
): Promise<T> => hubCall(identity, () => inTime(timers, ask, ms))

/** An order: what is on its way to the hub goes on after the wait for it ended. */
export const hubOrdered = <T>(
  { identity, timers }: Asker,
  work: () => Promise<T>,
  { ms = ORDERED_MS, again }: { ms?: number | undefined; again?: string } = {},
): Promise<T> => hubCall(identity, () => inTime(timers, work, ms), again)

async function inTime<T>(timers: Timers, work: (signal: AbortSignal) => Promise<T>, ms: number): Promise<T> {
  const end = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = timers.after(ms, () => {
    reject(new HubLate(ms))
    end.abort()
  })
  try {
    return await Promise.race([work(end.signal), late])
  } finally {
    timers.clear(timer)
  }
}

function refuseFor(error: unknown, own: Own, again: string | undefined): never {
  if (error instanceof ClocksApart) refuse('hub_refused', error.message, clockStep(error, again))
  if (error instanceof HubHalted) refuse('old_copy', error.message)
  if (error instanceof UnsealedHub)
    refuse('hub_unsealed', error.message, again && `to use it all the same:\n${again} --wire 1`)
  if (error instanceof WireMisnamed)
    refuse('hub_incompatible', error.message, 'the same command without --wire')
  if (error instanceof HubStopped) refuse('hub_incompatible', error.message)
  if (error instanceof KeyRefused)
    refuse(error.code === 'deactivated' ? 'identity_deactivated' : 'next_key_missing', error.message)
  if (error instanceof Refused) refuseAs(error, own, again)
  const next = addressStep(error, again) ?? step(again, 'once the hub answers')
  refuse('hub_unreachable', describe(error), next)
}

export const isUnreachable = (error: unknown): error is OperationRefused =>
  error instanceof OperationRefused && error.code === 'hub_unreachable'

/** What is to be published is kept here also when the hub does not answer. */
export async function publishing(asker: Asker, work: () => Promise<void>, ms?: number): Promise<void> {
  try {
    await hubOrdered(asker, work, { ms })
  } catch (error) {
    if (!isUnreachable(error)) throw error
    const kept = 'the new profile is kept here, the hub has not confirmed it'
    refuse('hub_unreachable', `${error.message}; ${kept}`, 'the same command again, once the hub answers')
  }
}

/** A name that nobody knows is mistyped, unless this machine is offline. */
function addressStep(error: unknown, again: string | undefined): string | undefined {
  if (error instanceof NoHub) return 'check the address of the hub'
  if (causeCode(error) !== 'ENOTFOUND') return undefined
  return step(
    again,
    'check the address first; if it is right, this machine has no network now, or only through a proxy (HTTPS_PROXY)',
  )
}

const step = (again: string | undefined, when: string) =>
  again === undefined ? undefined : `${when}:\n${again}`

function clockStep(error: ClocksApart, again: string | undefined): string | undefined {
  if (error instanceof DatedAhead) return step(again, 'once the hub takes it')
  return `set the clock of this machine, which date shows, then:\n${again ?? 'svc status'}`
}

/** A hub's words stay on one line, so that none of them looks like a word of this node. */
function refuseAs(error: Refused, { aid }: Own, again: string | undefined): never {
  if (error.code === 'wire_too_old') refuse('hub_incompatible', error.message)
  if (error.code === 'admission_required')
    refuse(
      'hub_refused',
      `the hub refused (${error.code}): ${aid} is not registered there, and only the operator can let it in`,
      [stepOfOperator(aid), ...(again === undefined ? [] : ['then here:', again])].join('\n'),
    )
  const next = error.code === 'unauthorized' ? 'svc doctor' : step(again, 'once that is mended')
  refuse('hub_refused', `the hub refused (${error.code}): ${plainLine(error.message, WORDS_MAX)}`, next)
}
