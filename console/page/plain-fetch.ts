/** The only way of this page to its node: without credentials, past every cache. */
import { NodeGone, NodeRefused } from '../../view/node-client.ts'

export const gone = () => new NodeGone(`no node answers at ${location.host}`, 'svc up')

/** Throws where a worker of another program stands before the page: it sees when, and how much, the page asks. */
export function plainFetch(path: string, given: RequestInit): Promise<Response> {
  requireNoWorker()
  return fetch(path, { ...given, credentials: 'omit', cache: 'no-store', redirect: 'error' })
}

/** A node registers no worker. */
function requireNoWorker(): void {
  const { serviceWorker } = globalThis.navigator ?? {}
  if (serviceWorker?.controller != null)
    throw new NodeRefused(
      'unauthorized',
      'another program has put a worker between this page and its node; close every tab of this address',
      'svc console',
    )
}
