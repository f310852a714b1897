/** Which devices there are, as their adapters describe them; one is forgotten when its adapter says so, or for room. */
import type { Description, DeviceCapability, Reading, Result, Value } from './frames.ts'
import { limits } from './limits.ts'

export type Asked = { device: string; capability: string }
/** What came of a question: the answer, or why there is none; `fault`: what is wrong with the one that came. */
export type Answer = Result | 'gone' | 'late' | 'busy' | 'left' | { fault: string }
export type Heard = { news(reading: Reading): void; ended(message: string): void }

/** The side of an adapter that the rest of the module sees. */
export type Adapter = {
  readonly name: string
  read(asked: Asked, signal: AbortSignal): Promise<Answer>
  write(asked: Asked, value: Value, signal: AbortSignal): Promise<Answer>
  /** Undefined where it has no place for one more; the function ends the subscription. */
  subscribe(asked: Asked, heard: Heard): (() => void) | undefined
}

export type Device = {
  readonly description: Description
  /** Undefined while its adapter is gone, or says that it is offline. */
  readonly adapter: Adapter | undefined
}

type Held = { description: Description; bytes: number; owner: Adapter | undefined; isOnline: boolean }

export class Devices {
  /** Those that went offline first stand first. */
  readonly #held = new Map<string, Held>()

  find(id: string): Device | undefined {
    const held = this.#held.get(id)
    return held && { description: held.description, adapter: held.isOnline ? held.owner : undefined }
  }

  list(): Device[] {
    return [...this.#held.keys()].sort().flatMap(id => this.find(id) ?? [])
  }

  /** Takes the place of what was said before; otherwise why it is refused. */
  describe(owner: Adapter, description: Description): string | undefined {
    const { device: id, online = true } = description
    const before = this.#held.get(id)
    if (before?.owner !== undefined && before.owner !== owner)
      return `${id} is described by the adapter ${before.owner.name}; give it another id`
    const own = [...this.#held.values()].filter(held => held.owner === owner).length
    if (before?.owner !== owner && own >= limits.devices.value)
      return `an adapter may describe ${limits.devices.value} devices`
    if (before === undefined && !this.#hasRoom())
      return `there are ${limits.devicesAll.value} devices already; end an adapter, or let it forget some`
    const bytes = JSON.stringify(description).length
    if (!this.#holds(bytes - (before?.bytes ?? 0), id))
      return `all descriptions have ${limits.describedBytes.value} bytes at most; describe fewer, or shorter`
    this.#put(id, { description, bytes, owner, isOnline: online })
    return undefined
  }

  state(owner: Adapter, id: string, isOnline: boolean): string | undefined {
    const held = this.#ownedBy(owner, id)
    if (held === undefined) return `describe ${id} first`
    this.#put(id, { ...held, isOnline })
    return undefined
  }

  forget(owner: Adapter, id: string): string | undefined {
    if (this.#ownedBy(owner, id) === undefined) return `describe ${id} first`
    this.#held.delete(id)
    return undefined
  }

  /** Its devices are offline, and another adapter may take them over. */
  left(owner: Adapter): void {
    for (const [id, held] of [...this.#held])
      if (held.owner === owner) this.#put(id, { ...held, owner: undefined, isOnline: false })
  }

  #ownedBy(owner: Adapter, id: string): Held | undefined {
    const held = this.#held.get(id)
    return held?.owner === owner ? held : undefined
  }

  #put(id: string, held: Held): void {
    this.#held.delete(id)
    this.#held.set(id, held)
  }

  /** Whether so much more is held, once those that are offline have made room for it. */
  #holds(more: number, id: string): boolean {
    const all = () => [...this.#held.values()].reduce((sum, { bytes }) => sum + bytes, 0)
    for (const [offline, { owner }] of [...this.#held]) {
      if (all() + more <= limits.describedBytes.value) return true
      if (owner === undefined && offline !== id) this.#held.delete(offline)
    }
    return all() + more <= limits.describedBytes.value
  }

  #hasRoom(): boolean {
    if (this.#held.size < limits.devicesAll.value) return true
    const oldest = [...this.#held].find(([, { owner }]) => owner === undefined)
    return oldest !== undefined && this.#held.delete(oldest[0])
  }
}

export const capabilityOf = (description: Description, name: string): DeviceCapability | undefined =>
  description.capabilities.find(({ capability }) => capability === name)
