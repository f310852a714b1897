/** Direct delivery in the configuration: the address that hubs list of this node, and whether it sends to those of others. */
import * as z from 'zod'
import { directAddress } from '../../protocol/contract/direct.ts'
import { hostName } from '../../protocol/control/a2a.ts'
import { DIRECT_HOSTS_MAX } from '../../protocol/control/p2p.ts'

export const P2pConfig = z.strictObject({
  /** The empty one was withdrawn: a hub that lists it still is told so. */
  address: z.union([z.literal(''), directAddress]).optional(),
  /** Whether letters to contacts go directly, which shows them the address of this machine. */
  send: z.boolean().optional(),
  /** Hosts that are called besides those of the public network. */
  hosts: z.array(hostName).max(DIRECT_HOSTS_MAX).optional(),
})
export type P2pConfig = z.infer<typeof P2pConfig>
