/** Operations on direct delivery: the address that the hub lists of this node, and letters that came there. */
import { toBase64 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isProxied } from '../hubs/pools.ts'
import type { Membership } from '../membership/membership.ts'
import type { DirectTaking } from '../p2p/taking.ts'
import { refuse } from '../refusal.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubOrdered, isUnreachable } from './hub-call.ts'

const NO_ADDRESSES = 'the hub of this node seals mail and lists no direct addresses; hubs of wire 1 do'
const BY_HUB_SEALED =
  'the hub of this node seals mail and lists no direct addresses, so everything goes by it'
const BY_HUB_PROXIED = 'this machine reaches others by way of a proxy, so everything goes by the hub'
const NO_SUPPORT = 'this build has no direct-connection support'
const KEPT = 'it is kept here, and told to the hub once that answers'

export type P2pParts = {
  asker: Asker
  settings: Settings
  membership: Pick<Membership, 'tellAddress' | 'draining'>
  home: () => HubClient
  hub: Pick<CurrentHub, 'home'>
  /** Undefined in a build without direct delivery. */
  taking: Pick<DirectTaking, 'take'> | undefined
}

export function p2pOperations({
  asker,
  settings,
  membership,
  home,
  hub: current,
  taking,
}: P2pParts): Pick<Handlers, 'p2pAdvertise' | 'p2pSet' | 'p2pTake'> {
  const requireSupport = () => taking ?? refuse('no_direct', NO_SUPPORT, 'svc version')
  return {
    async p2pAdvertise({ address = '' }) {
      requireSupport()
      const { p2p } = settings.current
      const hub = home()
      const previous = membership.draining().filter(({ direct }) => direct !== undefined)
      const isWithdrawnElsewhere = address === '' && previous.length > 0
      if (hub.direct === undefined && !isWithdrawnElsewhere) refuse('no_direct', NO_ADDRESSES)
      settings.change({ p2p: { ...p2p, address } })
      const again = ['svc p2p-advertise', ...(address === '' ? [] : [shellWord(address)])].join(' ')
      await hubOrdered(asker, () => membership.tellAddress(hub), { again }).catch(error => {
        if (isUnreachable(error)) refuse(error.code, `${error.message}; ${KEPT}`, error.next)
        settings.change({ p2p })
        throw error
      })
      const untold = await Promise.all(previous.map(one => whyUntold(asker, membership, one)))
      const note = untold.find(why => why !== undefined)
      return address === ''
        ? { status: 'withdrawn', ...present({ note }) }
        : { status: 'published', address, ...present({ note }) }
    },
    async p2pSet({ send, hosts = settings.current.p2p?.hosts }) {
      requireSupport()
      settings.change({ p2p: { ...settings.current.p2p, send, ...present({ hosts }) } })
      return { send, ...present({ hosts, note: send ? whyByHub(current.home) : undefined }) }
    },
    async p2pTake(letter) {
      const answered = await requireSupport().take(letter)
      return 'refused' in answered ? answered : { confirmation: toBase64(answered.confirmation) }
    },
  }
}

/** A node without a hub sends nothing yet. */
function whyByHub(home: HubClient | undefined): string | undefined {
  if (home !== undefined && home.direct === undefined) return BY_HUB_SEALED
  return isProxied ? BY_HUB_PROXIED : undefined
}

/** A hub that was home before may not answer; it is told with a later round. */
async function whyUntold(
  asker: Asker,
  membership: P2pParts['membership'],
  hub: HubClient,
): Promise<string | undefined> {
  try {
    await hubOrdered(asker, () => membership.tellAddress(hub), { ms: 5000 })
    return undefined
  } catch (error) {
    return `${hub.url}, a hub of before, may list what it was told last: ${describe(error)}`
  }
}
