/** Wire 3 as the node chooses it. */
import { WIRE } from '../../../protocol/wire3/headers.ts'
import type { Wire } from '../hub.ts'
import { fetchHubIdentity } from './calls.ts'
import { Wire3Hub } from './hub.ts'

export const wire3: Wire = {
  number: WIRE,
  sealed: true,
  meet: (url, { connections }) => fetchHubIdentity(url, connections.signed),
  open: (url, identity, inputs) => new Wire3Hub(url, identity, inputs),
}
