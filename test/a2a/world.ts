/** The A2A interface of a node, called by the stock SDK, with an agent behind it that answers by a program. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { SendMessageRequest as Request, type SendMessageRequest } from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import type { Node } from '../../daemon/node.ts'
import { type Lab, never, openLab } from '../two-nodes/world.ts'

export type Binding = 'JSONRPC' | 'HTTP+JSON'

export type A2aLab = {
  lab: Lab
  alice: Node
  bob: Node
  /** Address of alice's interface. */
  url: string
  token: string
  fetch: typeof fetch
  client(binding?: Binding, agent?: string): Promise<Client>
}

/** Alice, whose interface is on, and bob, whom she knows. `prepare`: what stands in her directory before. */
export async function openA2aLab(
  prepare: (dir: string) => unknown = () => undefined,
  bobEnv: Record<string, string> = {},
): Promise<A2aLab> {
  const lab = await openLab()
  prepare(join(lab.folder, 'alice'))
  const alice = await lab.member('alice')
  const bob = await lab.member('bob', bobEnv)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  const { url = '' } = await alice.handlers.a2aSet({ on: true, addr: '127.0.0.1:0' }, never)
  const { token } = await alice.handlers.a2aToken({}, never)
  const withToken: typeof fetch = (input, init = {}) => {
    const headers = new Headers(init.headers)
    headers.set('Authorization', `Bearer ${token}`)
    return fetch(input, { ...init, headers })
  }
  return {
    lab,
    alice,
    bob,
    url,
    token,
    fetch: withToken,
    client: (binding = 'JSONRPC', agent = 'bob') => clientOf(`${url}/${agent}`, binding, withToken),
  }
}

async function clientOf(url: string, binding: Binding, withToken: typeof fetch): Promise<Client> {
  const given = { fetchImpl: withToken }
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory(given), new RestTransportFactory(given)],
    preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver(given),
  })
  return new ClientFactory(options).createFromUrl(url, `${new URL(url).pathname}/.well-known/agent-card.json`)
}

/** A message in words, as the SDK sends it. */
export const words = (text: string, more: object = {}, configuration: object = {}): SendMessageRequest =>
  Request.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
    configuration,
  })
