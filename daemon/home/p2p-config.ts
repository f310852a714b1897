/** Direct delivery in the configuration: the address that hubs list of this node. */
import * as z from 'zod'
import { directAddress } from '../../protocol/control/p2p.ts'

export const P2pConfig = z.strictObject({
  /** The empty one was withdrawn: a hub that lists it still is told so. */
  address: z.union([z.literal(''), directAddress]).optional(),
})
export type P2pConfig = z.infer<typeof P2pConfig>
