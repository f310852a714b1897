/** What answers each route of wire 3, part by part. */
import type { Hub } from '../core/hub.ts'
import type { LineOptions } from '../http/line.ts'
import { accountHandlers } from './accounts.ts'
import { cardHandlers } from './cards.ts'
import { directoryHandlers } from './directory.ts'
import { fedHandlers } from './fed.ts'
import type { Handlers } from './handler.ts'
import { paymentHandlers } from './payments.ts'
import { publicHandlers } from './public.ts'
import { registerHandlers } from './register.ts'
import { relayHandlers } from './relay.ts'
import { reviewHandlers } from './reviews.ts'
import { supplyHandlers } from './supply.ts'

type Told = Pick<LineOptions, 'about' | 'hasDocuments'>

/** All handlers of a hub; `/stats` names the modules, which are what a hub may be without. */
export function handlersOf(hub: Hub, baseUrl: () => string, told: Told): Handlers {
  const modules = {
    cards: cardHandlers(hub, baseUrl),
    credits: { ...accountHandlers(hub), ...paymentHandlers(hub) },
    reviews: reviewHandlers(hub),
    supply: supplyHandlers(hub, baseUrl),
  }
  return {
    ...relayHandlers(hub),
    ...registerHandlers(hub, baseUrl),
    ...directoryHandlers(hub),
    ...publicHandlers(hub, baseUrl, { ...told, modules: Object.keys(modules) }),
    ...modules.cards,
    ...modules.credits,
    ...modules.reviews,
    ...modules.supply,
    ...fedHandlers(hub),
  }
}
