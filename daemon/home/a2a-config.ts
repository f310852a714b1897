/** The A2A interface in the configuration: whether it runs, where it listens, under which names, whom it may call. */
import * as z from 'zod'
import { A2A_HOSTS_MAX, a2aAddress, hostName } from '../../protocol/control/a2a.ts'

export const A2aConfig = z.strictObject({
  enabled: z.boolean(),
  addr: a2aAddress,
  /** Further names under which it is called, such as that of a proxy, each with its port or with ours. */
  hosts: z.array(hostName).max(A2A_HOSTS_MAX).optional(),
  /** Hosts that push notifications may go to besides public ones over https. */
  push_hosts: z.array(hostName).max(A2A_HOSTS_MAX).optional(),
})
export type A2aConfig = z.infer<typeof A2aConfig>

/** The port that the A2A interface of a first node takes, and those of further ones. */
export const A2A_PORT_FIRST = 41_241
export const A2A_PORT_END = A2A_PORT_FIRST + 64
export const A2A_HOST = '127.0.0.1'
