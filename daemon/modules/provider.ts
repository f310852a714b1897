/**
 * What a module is: providers of capabilities, each of which runs a call and says what came of it. The statuses, tiers and
 * bytes of the effect are made here, so that no provider can claim more than it may (node document §2, §3.1).
 */
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import {
  buildEffect,
  type Effect,
  type EffectRecord,
  lowerTrust,
  type Tier,
} from '../../protocol/proof/effect.ts'
import type { Timer, Timers } from '../../protocol/timers.ts'
import type { Chain } from '../chain/chain.ts'
import type { ModulesConfig } from '../home/module-config.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Publication } from '../hubs/publication.ts'
import type { Machine } from '../platform/machine.ts'
import type { Store } from '../store/open.ts'

export type Arguments = Readonly<Record<string, unknown>>

export type CapabilityCall = {
  capability: string
  args: Arguments
  /** AID of whoever asks; undefined for the owner of the node. */
  caller: string | undefined
  /** Ends the call: the node stops, or the provider's time is over. */
  signal: AbortSignal
}

/** What a provider observed; everything is optional but the status, and `OK` is what it claims, not what it gets. */
export type CallOutcome = {
  status: 'OK' | 'FAILED' | 'UNAVAILABLE'
  message?: string
  /** Numbers that can be compared; a number that is none is left out. */
  metrics?: Readonly<Record<string, number>>
  artifacts?: NonNullable<EffectRecord['artifacts']>
  observedState?: string
  protocol?: string
  nativeAck?: boolean
  quirk?: string
  /** What was asked, where the capability alone does not say it. */
  requested?: string
  /** Lower tiers than those of the provider, where this outcome is worth no more. */
  verify?: Tier
  auth?: Tier
}

export type Provider = {
  readonly capability: string
  readonly summary: string
  /** Whether the capability is named in the directory. */
  readonly published: boolean
  readonly timeoutMs: number
  /** The highest tiers that its word is worth. */
  readonly trust: { readonly verify: Tier; readonly auth: Tier }
  /** Credits that a call costs unless the owner set another price; such a call is run only against payment. */
  readonly price?: number
  /** What it observed stays out of the evidence chain. */
  readonly isPrivate?: true
  run(call: CapabilityCall): Promise<CallOutcome>
}

/** What a module is opened with: its own settings, and what of the node it may write to. */
export type ModuleGround = Machine & {
  config: ModulesConfig
  dir: string
  store: Store
  chain: Chain
  publication: Publication
  identity: { readonly aid: string }
  /** Where a module asks the hub of this node something. */
  hub: Pick<CurrentHub, 'home'>
  /** Aborts once the node stops, and ends what a module has open. */
  ending: AbortSignal
}

export type Module = { readonly name: string; open(ground: ModuleGround): Provider[] }

/** A failure that its caller may be told in these words. */
export class ProviderFailed extends Error {
  override name = 'ProviderFailed'
}

export const unavailable = (message: string): CallOutcome => ({ status: 'UNAVAILABLE', message })
export const failed = (message: string): CallOutcome => ({ status: 'FAILED', message })

/** Refuses arguments that nobody reads, with the ones that are read. */
export function onlyMembers(args: Arguments, accepted: readonly string[]): void {
  const unknown = Object.keys(args).find(name => !accepted.includes(name))
  if (unknown !== undefined)
    throw new ProviderFailed(`unexpected argument: ${unknown}; accepted: ${accepted.join(', ') || 'none'}`)
}

const MESSAGE_CHARACTERS_MAX = 1000

/** Runs a call to its end, whatever the provider does, and builds the effect. */
export async function runProvider(
  provider: Provider,
  call: CapabilityCall,
  { now, timers, log }: Omit<Machine, 'random'>,
): Promise<Effect> {
  const started = now()
  const time = timers.deadline(provider.timeoutMs)
  const signal = AbortSignal.any([call.signal, time])
  let outcome: CallOutcome
  try {
    outcome = await within(timers, signal, provider.run({ ...call, signal }))
  } catch (error) {
    log.warn({ err: error, capability: call.capability }, 'a provider failed')
    outcome = failed(whyFailed(error, { isOver: time.aborted, timeoutMs: provider.timeoutMs }))
  }
  return effectOf(provider, call, outcome, now() - started)
}

function whyFailed(error: unknown, { isOver, timeoutMs }: { isOver: boolean; timeoutMs: number }): string {
  if (isOver) return `it took longer than ${timeoutMs / 1000} s`
  return error instanceof ProviderFailed ? wordsOf(error) : 'the provider ended with an error'
}

/** What a provider is given to end by itself what it was told to end. */
const GRACE_MS = 2000

/** The work, or the reason for which nobody waits for it any more. */
async function within<T>(timers: Timers, signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  let grace: Timer | undefined
  const onAbort = () => {
    grace = timers.after(GRACE_MS, () => reject(signal.reason))
  }
  if (signal.aborted) onAbort()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    timers.clear(grace)
    signal.removeEventListener('abort', onAbort)
    work.catch(() => undefined)
  }
}

const NO_TRUST = { verify: 0, auth: 0 } as const

function effectOf(provider: Provider, call: CapabilityCall, outcome: CallOutcome, latencyMs: number): Effect {
  const { metrics = {}, artifacts = [], observedState, protocol, nativeAck, quirk } = outcome
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value))
  // minus zero is no metric: it has no canonical form
  const kept = Object.fromEntries(finite.map(([name, value]) => [name, value === 0 ? 0 : value]))
  // who did nothing has earned no trust
  const { verify, auth } = outcome.status === 'UNAVAILABLE' ? NO_TRUST : provider.trust
  const evidence = {
    verifyTrust: verify,
    authTrust: auth,
    requested: outcome.requested ?? call.capability,
    latencyMs: Math.max(0, Math.round(latencyMs)),
    ...present({ observedState, protocol, nativeAck, quirk }),
  }
  return buildEffect({
    status: outcome.status,
    message: (outcome.message ?? '').slice(0, MESSAGE_CHARACTERS_MAX),
    record: { metrics: kept, artifacts },
    evidence: lowerTrust(evidence, present({ verify: outcome.verify, auth: outcome.auth })),
  })
}
