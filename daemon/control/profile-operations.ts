/** Operations on what others see of this node, and on what its screens remember. */
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Events } from '../platform/events.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubOrdered } from './hub-call.ts'
import type { Publishing } from './publishing.ts'

const KEPT = 'pricing is kept here and shown by profile show'

type ProfileParts = {
  asker: Asker
  settings: Settings
  events: Events
  publishing: Publishing
  home: () => HubClient
  hub: Pick<CurrentHub, 'home'>
}

export function profileOperations({
  asker,
  settings,
  events,
  publishing,
  home,
  hub,
}: ProfileParts): Pick<Handlers, 'accept' | 'consoleSet' | 'profileSet' | 'visibility'> {
  return {
    async accept(given) {
      settings.change({ accept_delegations: given.on })
      return { accept_delegations: given.on }
    },
    async consoleSet({ keys }) {
      settings.change({ console_keys: keys })
      events.emit('settings')
      return { keys }
    },
    async profileSet(given) {
      publishing.require(given)
      const config = settings.change(withoutUndefined(given))
      const max = hub.home?.pricingBytesMax ?? 0
      const told = [given.summary, given.readme, given.caps, max > 0 ? given.pricing : undefined]
      if (told.some(one => one !== undefined)) await publishing.profile()
      const { summary, readme, pricing, caps } = config
      const note = given.pricing === undefined ? undefined : whyUntold(given.pricing, max)
      return { status: 'profile_updated', summary, readme, pricing, caps, ...present({ note }) }
    },
    async visibility(given) {
      settings.requireReadable()
      await hubOrdered(asker, async () => {
        await home().setVisibility(given.visibility)
        settings.change({ visibility: given.visibility })
      })
      return { visibility: given.visibility }
    },
  }
}

/** `bytesMax`: how much of it the hub takes. */
function whyUntold(pricing: string, bytesMax: number): string | undefined {
  if (bytesMax === 0) return `hubs of wire 3 publish no prices; ${KEPT}`
  if (utf8(pricing).length <= bytesMax) return undefined
  return `the hub takes at most ${bytesMax} bytes about prices, so it has none of this; ${KEPT}`
}

/** What was given, without the members that were not. */
export function withoutUndefined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
