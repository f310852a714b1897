/** What a call of this node's own capabilities costs now, and whether it is taken at all. */
import { networkOf } from '../../protocol/proof/payment.ts'
import type { Quote } from '../../protocol/proof/quote.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { Identity } from '../identity/identity.ts'
import { maySign } from '../payments/may-sign.ts'
import { quoteFor } from '../payments/price-check.ts'
import { refuseA2a } from './errors.ts'

/** Of the modules of this build, what a price is made of. */
export type Serving = {
  serves(capability: string): boolean
  priceOf(capability: string): number | undefined
  startsOf(capability: string): number | undefined
  find(capability: string): { timeoutMs?: number | undefined } | undefined
}

export class OwnPrices {
  readonly #identity: Identity
  readonly #hub: CurrentHub
  readonly #modules: Serving
  readonly #isPaidHere: boolean

  /** `isPaidHere`: whether this build takes payments. */
  constructor(
    { identity, hub, modules }: { identity: Identity; hub: CurrentHub; modules: Serving },
    isPaidHere: boolean,
  ) {
    this.#identity = identity
    this.#hub = hub
    this.#modules = modules
    this.#isPaidHere = isPaidHere
  }

  /** Refuses a capability that this node does not serve. */
  requireServed(capability: string): void {
    if (!this.#modules.serves(capability))
      refuseA2a('InvalidParams', `this node does not serve ${capability}; the card lists what it does`)
  }

  /** Undefined for a call that is free. */
  quote(capability: string): Quote | undefined {
    const [identity, hub, modules] = [this.#identity, this.#hub, this.#modules]
    if (!maySign(identity, hub))
      refuseA2a('UnsupportedOperation', 'this node takes no calls now; svc status says why')
    const amount = modules.priceOf(capability)
    if (amount === undefined) return undefined
    if (!this.#isPaidHere)
      return refuseA2a(
        'UnsupportedOperation',
        `${capability} has a price, and this build has no payment support`,
      )
    const { home } = hub
    if (home === undefined)
      return refuseA2a('UnsupportedOperation', 'no hub is there that could take a payment; svc status')
    if (!home.credits.can.holds)
      return refuseA2a('UnsupportedOperation', 'the hub holds no credits until work is done; svc status')
    const seconds = (modules.find(capability)?.timeoutMs ?? 0) / 1000
    const starts = modules.startsOf(capability)
    const provider = identity.aid
    const network = networkOf(home.identity.aid)
    return quoteFor({ provider, network, what: capability, amount, seconds, starts })
  }
}
