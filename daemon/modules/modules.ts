/** The modules of this build, opened: which capability is served, and by whom it is run. */
import { module as blackboard } from '#blackboard'
import { module as cas } from '#cas'
import { module as org } from '#org'
import { module as service } from '#service'
import { module as shell } from '#shell'
import { module as svclink } from '#svclink'
import { module as taskboard } from '#taskboard'
import { CAPS_MAX } from '../../protocol/contract/limits.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Effect } from '../../protocol/proof/effect.ts'
import { TASK } from '../../protocol/proof/quote.ts'
import type { Served } from '../context.ts'
import type { Settings } from '../home/settings.ts'
import type { Machine } from '../platform/machine.ts'
import {
  type CapabilityCall,
  type Module,
  type ModuleGround,
  type Provider,
  runProvider,
} from './provider.ts'

const compiled: readonly Module[] = [service, cas, blackboard, org, taskboard, svclink, shell].filter(
  one => one !== undefined,
)

/** Names of what this build has, for the one that asks which. */
export const moduleNames: readonly string[] = compiled.map(({ name }) => name)

export class Modules implements Served {
  readonly #settings: Settings
  readonly #machine: Machine
  readonly #providers = new Map<string, { provider: Provider; module: string }>()

  constructor(settings: Settings, ground: ModuleGround) {
    this.#settings = settings
    this.#machine = ground
    for (const module of compiled)
      for (const provider of module.open(ground)) this.#add(provider, module.name)
  }

  #add(provider: Provider, module: string): void {
    if (provider.capability === TASK)
      throw new Error(
        `${TASK} stands for tasks in words; give the capability of the module ${module} another name`,
      )
    const taken = this.#providers.get(provider.capability)
    if (taken !== undefined)
      throw new Error(`${provider.capability} is a capability of the modules ${taken.module} and ${module}`)
    this.#providers.set(provider.capability, { provider, module })
  }

  serves(capability: string): boolean {
    return this.#providers.has(capability)
  }

  /** What the owner asks, else what the module's settings say; a price of 0 makes a capability free. */
  priceOf(capability: string): number | undefined {
    const set = this.#settings.current.prices?.[capability]
    const price = set ?? this.find(capability)?.price
    return price === 0 ? undefined : price
  }

  /** What a withdrawal after the start costs; undefined where that is the whole price. */
  startsOf(capability: string): number | undefined {
    const starts = this.#settings.current.starts?.[capability]
    const price = this.priceOf(capability) ?? 0
    return starts === undefined || starts >= price ? undefined : starts
  }

  offered(): string[] {
    const published = this.list().filter(one => one.published)
    const all = [...this.#settings.current.caps, ...published.map(({ capability }) => capability)]
    return [...new Set(all)].slice(0, CAPS_MAX)
  }

  find(capability: string): Provider | undefined {
    return this.#providers.get(capability)?.provider
  }

  list(): { capability: string; module: string; summary: string; published: boolean; price?: number }[] {
    return [...this.#providers.values()].map(({ provider, module }) => ({
      capability: provider.capability,
      module,
      summary: provider.summary,
      published: provider.published,
      ...present({ price: this.priceOf(provider.capability) }),
    }))
  }

  async run(provider: Provider, call: CapabilityCall): Promise<Effect> {
    return runProvider(provider, call, this.#machine)
  }
}
