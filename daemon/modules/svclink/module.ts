/**
 * Devices as capabilities: adapters, programs of their own, describe them over a socket of this node and serve what is asked
 * of them. A caller from afar reaches only what the owner lists for it; the adapter never learns who asks.
 */
import { join } from 'node:path'
import type { Tier } from '../../../protocol/proof/effect.ts'
import type { Chain } from '../../chain/chain.ts'
import type { SvclinkConfig } from '../../home/module-config.ts'
import {
  type CallOutcome,
  type CapabilityCall,
  failed,
  type Module,
  onlyMembers,
  type Provider,
  ProviderFailed,
  unavailable,
} from '../provider.ts'
import { type Adapter, type Answer, type Asked, capabilityOf, type Device, Devices } from './devices.ts'
import { type DeviceCapability, type Result, type Value, valueShape } from './frames.ts'
import { limits } from './limits.ts'
import { deviceOf } from './quirks.ts'
import { OFFLINE, readOutcome, type Subject, writeOutcome } from './reading.ts'
import { LinkSocket } from './socket.ts'
import { Watches } from './watches.ts'

const SOCKET = 'devices.sock'
const MARGIN_MS = 5_000
const WAIT_S_DEFAULT = 20
const SECOND_MS = 1_000

export const module: Module | undefined = {
  name: 'svclink',
  open(ground) {
    const { svclink } = ground.config
    if (svclink === undefined) return []
    const devices = new Devices()
    new LinkSocket(svclink.socket ?? join(ground.dir, SOCKET), devices, ground).open(ground.ending)
    return new DeviceLink(svclink, devices, new Watches(ground.timers), ground.chain).providers()
  },
}

type Access = DeviceCapability['access'][number]
/** What a call is about, once it is known that its caller may and that the device is there. */
type Target = { asked: Asked; subject: Subject; adapter: Adapter }
type Run = (target: Target) => Promise<CallOutcome>

class DeviceLink {
  readonly #config: SvclinkConfig
  readonly #devices: Devices
  readonly #watches: Watches
  readonly #chain: Chain
  /** Capabilities that are being written, one call at a time: what is read back must be of what was written. */
  readonly #writing = new Set<string>()

  constructor(config: SvclinkConfig, devices: Devices, watches: Watches, chain: Chain) {
    this.#config = config
    this.#devices = devices
    this.#watches = watches
    this.#chain = chain
  }

  providers(): Provider[] {
    return [
      this.#provider('list', 'the devices and what they can do', 0, async call => this.#list(call)),
      this.#provider('read', 'reads a capability of a device', limits.readMs.value, call =>
        this.#reach(call, 'read', ['content'], target => this.#read(call, target)),
      ),
      this.#provider(
        'write',
        'writes a capability of a device, and reads it back',
        limits.writeMs.value,
        call => this.#reach(call, 'write', ['value'], target => this.#write(call, target)),
      ),
      this.#provider('watch', 'waits for a device to report', limits.waitS.value * SECOND_MS, call =>
        this.#reach(call, 'subscribe', ['after', 'wait_s'], target => this.#watch(call, target)),
      ),
    ]
  }

  #provider(name: string, summary: string, timeMs: number, run: Provider['run']): Provider {
    const { verify_trust: verify, auth_trust: auth } = this.#config
    return {
      ...{ capability: `device.${name}`, summary, published: false, run },
      ...{ timeoutMs: timeMs + MARGIN_MS, trust: { verify, auth } },
    }
  }

  /** The list of a capability is asked before anything is said of its device. */
  async #reach(call: CapabilityCall, access: Access, more: string[], run: Run): Promise<CallOutcome> {
    onlyMembers(call.args, ['device', 'capability', ...more])
    const asked = { device: text(call.args, 'device'), capability: text(call.args, 'capability') }
    const refusal = this.#refusal(call, asked, access)
    if (refusal !== undefined) return refusal
    const device = this.#devices.find(asked.device)
    if (device === undefined) return unavailable(`${asked.device} has not described itself`)
    const subject = this.#subject(device, asked.capability)
    if (subject === undefined) throw new ProviderFailed(`${asked.device} has no ${asked.capability}`)
    if (!subject.capability.access.includes(access))
      throw new ProviderFailed(`${asked.capability} of ${asked.device} has no ${access}`)
    if (device.adapter === undefined) return unavailable(OFFLINE)
    return await run({ asked, subject, adapter: device.adapter })
  }

  #subject({ description }: Device, name: string): Subject | undefined {
    const capability = capabilityOf(description, name)
    const { verify_trust: verify, auth_trust: auth } = this.#config
    return capability && { description, capability, ceiling: { verify, auth } }
  }

  /** Its adapter may have described it anew meanwhile, or let it go: then the lower trust of both counts. */
  #subjectAfter(asked: Asked, before: Subject): Subject {
    const device = this.#devices.find(asked.device)
    const after = device && this.#subject(device, asked.capability)
    const { description, capability, ceiling } = after ?? before
    const least = (axis: 'verify_trust' | 'auth_trust'): Tier =>
      after === undefined ? 0 : (Math.min(before.description[axis], after.description[axis]) as Tier)
    const trust = { verify_trust: least('verify_trust'), auth_trust: least('auth_trust') }
    return { description: { ...description, ...trust }, capability, ceiling }
  }

  #isAllowed(caller: string | undefined, { device, capability }: Asked, access: Access): boolean {
    if (caller === undefined) return true
    const { allow = [], readers = [] } = this.#config.capabilities[`${device}/${capability}`] ?? {}
    return allow.includes(caller) || (access !== 'write' && readers.includes(caller))
  }

  #refusal({ caller, capability }: CapabilityCall, asked: Asked, access: Access): CallOutcome | undefined {
    if (this.#isAllowed(caller, asked, access)) return undefined
    const reason = 'this caller is not allowed'
    const of = `${asked.device}/${asked.capability}`.slice(0, 129).toWellFormed()
    this.#chain.append('svc.device.refused', { caller: caller ?? '', capability, of, reason })
    return unavailable(reason)
  }

  #list({ caller, args }: CapabilityCall): CallOutcome {
    onlyMembers(args, [])
    const shown = this.#devices.list().flatMap(({ description, adapter }) => {
      const { type: _, device, capabilities, online: __, ...more } = description
      const seen = capabilities.filter(({ capability }) =>
        this.#isAllowed(caller, { device, capability }, 'read'),
      )
      if (seen.length === 0 && caller !== undefined) return []
      return [{ device, online: adapter !== undefined, ...more, capabilities: seen }]
    })
    return { status: 'OK', metrics: { devices: shown.length }, observedState: JSON.stringify(shown) }
  }

  async #read({ args, signal }: CapabilityCall, { asked, subject, adapter }: Target): Promise<CallOutcome> {
    const { content = false } = args
    if (typeof content !== 'boolean') throw new ProviderFailed('expected content: true or false')
    const answer = await adapter.read(asked, signal)
    const requested = asked.capability
    if (!isResult(answer)) return { ...unanswered(answer, asked.device, limits.readMs.value), requested }
    return { ...readOutcome(this.#subjectAfter(asked, subject), answer, content), requested }
  }

  async #write({ args, signal }: CapabilityCall, { asked, subject, adapter }: Target): Promise<CallOutcome> {
    const value = writable(subject.capability, args['value'])
    const requested = `${asked.capability}=${String(value)}`.slice(0, REQUESTED_MAX).toWellFormed()
    const key = `${asked.device}/${asked.capability}`
    if (this.#writing.has(key)) return unavailable(`another call writes ${asked.capability} now`)
    this.#writing.add(key)
    let answer: Answer
    try {
      answer = await adapter.write(asked, ofDevice(subject.capability, value), signal)
    } finally {
      this.#writing.delete(key)
    }
    if (isResult(answer))
      return { ...writeOutcome(this.#subjectAfter(asked, subject), value, answer), requested }
    const lost = unanswered(answer, asked.device, limits.writeMs.value)
    if (answer === 'busy') return { ...lost, requested }
    const words = `${lost.message ?? ''}; whether it took effect is not known`
    return { ...failed(words), requested, ...NOTHING_SEEN }
  }

  async #watch({ args, signal }: CapabilityCall, { asked, adapter }: Target): Promise<CallOutcome> {
    const { after, wait_s: waitS = WAIT_S_DEFAULT } = args
    if (after !== undefined && typeof after !== 'number') throw new ProviderFailed('expected after: a number')
    if (typeof waitS !== 'number' || waitS < 0 || waitS > limits.waitS.value)
      throw new ProviderFailed(`expected wait_s: 0 to ${limits.waitS.value}`)
    const subject = () => {
      const device = this.#devices.find(asked.device)
      return device && this.#subject(device, asked.capability)
    }
    const outcome = await this.#watches.next(asked, { adapter, subject }, { after, waitS, signal })
    return { ...outcome, requested: asked.capability }
  }
}

const NOTHING_SEEN = { verify: 0, auth: 0 } as const
const isResult = (answer: Answer): answer is Result => typeof answer !== 'string' && 'status' in answer

/** What is known where no answer came; nothing was observed, so nothing is trusted. */
function unanswered(answer: Exclude<Answer, Result>, device: string, timeMs: number): CallOutcome {
  if (typeof answer === 'object')
    return { ...failed(`the adapter of ${device} gave no good answer: ${answer.fault}`), ...NOTHING_SEEN }
  switch (answer) {
    case 'gone':
      return unavailable(OFFLINE)
    case 'busy':
      return unavailable(`${limits.pending.value} calls wait for the adapter of ${device} already`)
    case 'late':
      return {
        ...failed(`the adapter of ${device} gave no answer within ${timeMs / SECOND_MS} s`),
        ...NOTHING_SEEN,
      }
    case 'left':
      return { ...failed('the call was ended'), ...NOTHING_SEEN }
  }
}

function text(args: CapabilityCall['args'], name: string): string {
  const value = args[name]
  if (typeof value !== 'string' || value === '') throw new ProviderFailed(`expected ${name}: a text`)
  return value
}

/** A value that the device takes, as its description says. */
function writable(capability: DeviceCapability, value: unknown): Value {
  const found = typeof value === 'string' ? 'text' : typeof value
  if (!isValue(value) || found !== capability.kind)
    throw new ProviderFailed(`expected value: a ${capability.kind} for ${capability.capability}`)
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, values } = capability
  if (typeof value === 'number' && (value < minimum || value > maximum))
    throw new ProviderFailed(`expected value: ${bounds(capability)} for ${capability.capability}`)
  if (typeof value === 'string' && values?.includes(value) === false)
    throw new ProviderFailed(`expected value: ${values.join(' or ')}`)
  return value
}

const bounds = ({ minimum, maximum }: DeviceCapability): string =>
  maximum === undefined
    ? `at least ${minimum}`
    : minimum === undefined
      ? `at most ${maximum}`
      : `${minimum} to ${maximum}`

/** Of what was asked for, as the evidence has it. */
const REQUESTED_MAX = 1_000
const isValue = (value: unknown): value is Value => valueShape.safeParse(value).success

const ofDevice = ({ quirks = [] }: DeviceCapability, value: Value): Value =>
  typeof value === 'number' ? deviceOf(quirks, value) : value
