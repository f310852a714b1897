/** Operations on what others see of this node, and on what its screens remember. */
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'
import type { Events } from '../platform/events.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubOrdered } from './hub-call.ts'
import type { Publishing } from './publishing.ts'

const PROFILE_NOTE = 'hubs publish no prices; pricing is kept here and shown by profile show'

type ProfileParts = {
  asker: Asker
  settings: Settings
  events: Events
  publishing: Publishing
  home: () => HubClient
}

export function profileOperations({
  asker,
  settings,
  events,
  publishing,
  home,
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
      if ([given.summary, given.readme, given.caps].some(one => one !== undefined)) await publishing.profile()
      const { summary, readme, pricing, caps } = config
      const note = given.pricing === undefined ? {} : { note: PROFILE_NOTE }
      return { status: 'profile_updated', summary, readme, pricing, caps, ...note }
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

/** What was given, without the members that were not. */
export function withoutUndefined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
