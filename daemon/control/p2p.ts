/** Operations on direct delivery: the address of this node, as its hub or its contacts know it, and mail that came there. */
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Settings } from '../home/settings.ts'
import type { CurrentHub } from '../hubs/current.ts'
import { describe } from '../hubs/failures.ts'
import type { HubClient } from '../hubs/hub.ts'
import { isProxied } from '../hubs/pools.ts'
import type { Membership } from '../membership/membership.ts'
import type { Taking } from '../p2p/direct.ts'
import type { Contacts } from '../peers/contacts.ts'
import { refuse } from '../refusal.ts'
import { addressOf } from '../store/direct.ts'
import type { Store } from '../store/open.ts'
import type { Handlers } from './handlers.ts'
import { type Asker, hubOrdered, isUnreachable } from './hub-call.ts'
import { p2pView } from './status.ts'

const BY_HUB_PROXIED = 'this machine reaches others by way of a proxy, so everything goes by the hub'
const NO_SUPPORT = 'this build has no direct-connection support'
const KEPT = 'it is kept here, and told to the hub once that answers'

export type P2pParts = {
  asker: Asker
  settings: Settings
  membership: Pick<Membership, 'tellAddress' | 'isAddressListed' | 'addressToldCount' | 'draining'>
  home: () => HubClient
  hub: Pick<CurrentHub, 'home'>
  contacts: Contacts
  store: Store
  /** Undefined in a build without direct delivery. */
  taking: Taking | undefined
}

type P2pOperation = 'p2pAdvertise' | 'p2pSet' | 'p2pStatus' | 'p2pTake' | 'p2pAdmit' | 'p2pTakeEnvelope'

export function p2pOperations({
  asker,
  settings,
  membership,
  home,
  hub,
  contacts,
  store,
  taking,
}: P2pParts): Pick<Handlers, P2pOperation> {
  const requireSupport = () => taking ?? refuse('no_direct', NO_SUPPORT, 'svc version')
  return {
    async p2pAdvertise({ address = '' }) {
      requireSupport()
      const { p2p } = settings.current
      const at = home()
      const previous = membership.draining().filter(({ direct }) => direct !== undefined)
      settings.change({ p2p: { ...p2p, address } })
      const again = ['svc p2p-advertise', ...(address === '' ? [] : [shellWord(address)])].join(' ')
      await hubOrdered(asker, () => membership.tellAddress(at), { again }).catch(error => {
        if (isUnreachable(error)) refuse(error.code, `${error.message}; ${KEPT}`, error.next)
        settings.change({ p2p })
        throw error
      })
      const untold = await Promise.all(previous.map(one => whyUntold(asker, membership, one)))
      const note = untold.find(why => why !== undefined)
      const told = at.mail === undefined ? undefined : membership.addressToldCount
      return address === ''
        ? { status: 'withdrawn', ...present({ note }) }
        : { status: 'published', address, ...present({ told, note }) }
    },
    async p2pSet({ send, hosts = settings.current.p2p?.hosts }) {
      requireSupport()
      settings.change({ p2p: { ...settings.current.p2p, send, ...present({ hosts }) } })
      return { send, ...present({ hosts, note: whyByHub(send) }) }
    },
    async p2pStatus() {
      requireSupport()
      const { send = false } = settings.current.p2p ?? {}
      const shown = p2pView(settings.current, { home: hub.home, membership }) ?? { send }
      const reached = contacts.list().flatMap(({ aid, petname }) => {
        const address = addressOf(store, aid)
        return petname === null || address === undefined || !contacts.isContact(aid)
          ? []
          : [{ aid, petname, address }]
      })
      return { ...shown, contacts: reached, ...present({ note: whyByHub(send) }) }
    },
    async p2pTake(letter) {
      const answered = await requireSupport().letters.take(letter)
      return 'refused' in answered ? answered : { confirmation: toBase64(answered.confirmation) }
    },
    async p2pAdmit({ head, size }) {
      return present({ refused: await requireSupport().envelopes.admit(fromBase64(head), size) })
    },
    async p2pTakeEnvelope({ envelope }) {
      const answered = await requireSupport().envelopes.take(fromBase64(envelope))
      return 'refused' in answered ? answered : { confirmation: toBase64(answered.confirmation) }
    },
  }
}

const whyByHub = (send: boolean) => (send && isProxied ? BY_HUB_PROXIED : undefined)

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
