/** Operations on the A2A interface of the node: whether it runs, where, and by which token it is opened. */
import * as z from 'zod'
import { operation } from './operation.ts'

/** Names in one list of hosts at most. */
export const A2A_HOSTS_MAX = 16

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?$/i
const ADDRESS = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[0-9]{1,5}$/i

/** A host with or without a port, at most 261 characters. */
export const hostName = z
  .string()
  .max(261)
  .refine(text => HOST_NAME.test(text), {
    error: 'expected a host name, with a port or without one, such as box.example:8080',
  })
/** A host and a port; 0 is any that is free. */
export const a2aAddress = z
  .string()
  .max(261)
  .refine(text => ADDRESS.test(text), { error: 'expected a host and a port, such as 127.0.0.1:41241' })

const view = z.strictObject({
  on: z.boolean(),
  /** Where its card is while it runs. */
  card_url: z.string().optional(),
  /** Each agent has its own address below it: `<url>/<AID or petname>`. */
  url: z.string().optional(),
  addr: z.string().optional(),
  hosts: z.array(z.string()).optional(),
  push_hosts: z.array(z.string()).optional(),
  /** Why it does not run although it is on, or runs elsewhere. */
  warning: z.string().optional(),
})

/** Rows of `/a2a` and below it; docs/operations.md has their members and codes. */
export const a2aOperations = {
  a2a: operation('/a2a', { method: 'GET', reads: true, reply: view }),
  a2aSet: operation('/a2a/set', {
    reads: false,
    afterEnd: true,
    /** What is not named stays as it is; an empty list takes all names away. */
    request: z.strictObject({
      on: z.boolean(),
      addr: a2aAddress.optional(),
      hosts: z.array(hostName).max(A2A_HOSTS_MAX).optional(),
      push_hosts: z.array(hostName).max(A2A_HOSTS_MAX).optional(),
    }),
    reply: view,
    codes: ['bad_request'],
  }),
  a2aToken: operation('/a2a/token', {
    reads: false,
    afterEnd: true,
    /** A new one ends what the one before opened: streams, calls that wait, and `dropped_pushes` addresses that were called. */
    request: z.strictObject({ renew: z.boolean().optional() }),
    reply: z.strictObject({ token: z.string(), file: z.string(), dropped_pushes: z.int().optional() }),
  }),
} as const
