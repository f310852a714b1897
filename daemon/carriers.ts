/** The carriers of this build, by the wire of the hubs whose mail they bring. */
import { module as p2p } from '#p2p'
import type { Carriers } from './carrier/carrier.ts'
import type { Ground } from './context.ts'
import type { HubClient } from './hubs/hub.ts'
import { wire1 } from './hubs/wire1/wire.ts'
import { wire3 } from './hubs/wire3/wire.ts'
import { openCarriers } from './open/open.ts'
import { sealedCarriers } from './sealed/open.ts'

type CarrierKinds = ReadonlyMap<number, (ground: Ground) => Carriers>

export const carrierKinds: CarrierKinds = new Map([
  [wire3.number, ground => sealedCarriers(ground, p2p?.sealedShortcutOf(ground))],
  [wire1.number, ground => openCarriers(ground, p2p?.shortcutsOf(ground))],
])

/** Each hub has the carrier of its wire; agents are looked up by that of the home hub. */
export function carriersOf(ground: Ground, kinds: CarrierKinds = carrierKinds): Carriers {
  const opened = new Map<number, Carriers>()
  const of = ({ url, identity: { wire } }: HubClient): Carriers => {
    const carriers = opened.get(wire) ?? kinds.get(wire)?.(ground)
    if (carriers === undefined) throw new Error(`nothing carries the mail of the hub ${url}, of wire ${wire}`)
    opened.set(wire, carriers)
    return carriers
  }
  return {
    over: hub => of(hub).over(hub),
    async find(aid) {
      const { home } = ground.hub
      return home === undefined ? { outcome: 'not_known', why: 'no_hub' } : of(home).find(aid)
    },
  }
}
