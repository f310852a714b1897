/** Operations on the hub of this node: joining one, looking at it again, leaving it. */
import { Refused } from '../../protocol/contract/client.ts'
import { OperationRefused } from '../../protocol/control/refusal.ts'
import { present } from '../../protocol/encoding/present.ts'
import { shellWord } from '../../protocol/shell.ts'
import type { Timers } from '../../protocol/timers.ts'
import type { Settings } from '../home/settings.ts'
import type { HubClient } from '../hubs/hub.ts'
import { stepOfOperator } from '../hubs/kept-out.ts'
import { hasCodes, spoken } from '../hubs/open.ts'
import type { Identity } from '../identity/identity.ts'
import type { Membership } from '../membership/membership.ts'
import type { Contacts } from '../peers/contacts.ts'
import type { PeerBook } from '../peers/peers.ts'
import { refuse } from '../refusal.ts'
import { sayOwedBy } from './accounts.ts'
import type { Handlers } from './handlers.ts'
import { hubCall, hubOrdered, isUnreachable } from './hub-call.ts'
import { importPhrase } from './identity-operations.ts'
import { withoutUndefined } from './profile-operations.ts'
import type { Publishing } from './publishing.ts'

type HubParts = {
  identity: Identity
  timers: Timers
  settings: Settings
  membership: Membership
  publishing: Publishing
  /** What the user should know of a hub that was joined. */
  noteOf: (hub: HubClient) => string | undefined
  /** Says that this identity took the place of another one. */
  sayAnew: () => string | undefined
}
type HubRegister = Parameters<Handlers['hubRegister']>[0]
type HubOperations = Pick<Handlers, 'hubRegister' | 'hubLook' | 'hubLeave'>

/** `lifetime` is that of the node; `wake` looks at once at everything that waits. */
export function hubOperations(
  parts: HubParts,
  { wake, lifetime }: { wake: () => void; lifetime: AbortSignal },
): HubOperations {
  const { timers, settings, membership } = parts
  return {
    async hubRegister(given, signal) {
      return joinHub(parts, given, { signal: AbortSignal.any([signal, lifetime]), wake })
    },
    async hubLook() {
      return { talking: await membership.lookAgain() }
    },
    async hubLeave(given) {
      settings.requireReadable()
      const work = async () => {
        const done = await membership.leave(given.url)
        if (done.current) settings.change({ hub_url: undefined })
        return done
      }
      const again = ['svc hub-leave', ...(given.url === undefined ? [] : [shellWord(given.url)])].join(' ')
      const left = await hubOrdered(parts, work, { again }).catch(stillRegistered)
      const owed = left.hub && (await sayOwedBy(left.hub, timers))
      return { status: 'left', hub_url: left.url, current: left.current, ...owed }
    },
  }
}

/** A hub is left when it knows; until then it takes mail for this node. */
function stillRegistered(error: unknown): never {
  if (!isUnreachable(error)) throw error
  const { message, next } = error
  return refuse(
    'hub_unreachable',
    `${message}; this node stays registered there until the hub has heard it`,
    next,
  )
}

const ASK_CODE = 'ask the operator for another code, which this makes:\nsvc-hub invite new'

async function joinHub(
  { identity, settings, membership, publishing, noteOf, sayAnew }: HubParts,
  given: HubRegister,
  { signal, wake }: { signal: AbortSignal; wake: () => void },
) {
  if (given.wire !== undefined && !spoken.includes(given.wire))
    refuse('hub_incompatible', `this node speaks wire ${spoken.join(', ')}, not ${given.wire}`, 'svc version')
  publishing.require(present({ name: given.name, caps: given.caps }))
  if (given.recovery_phrase !== undefined) importPhrase(identity, given.recovery_phrase)
  const { name, caps, guest_messages, accept_delegations } = settings.current
  settings.change(
    withoutUndefined({
      name: given.name,
      caps: given.caps,
      guest_messages: given.guest_messages,
      accept_delegations: given.accept_delegations,
    }),
  )
  const previous = identity.aid
  const madeAnew = () => (identity.aid === previous ? undefined : sayAnew())
  const join = () =>
    membership
      .join(given.url, signal, { wire: given.wire, invite: given.token })
      .catch((error: unknown) => refuseInvite(error, given, identity.aid))
  const { hub, reply } = await hubCall(identity, join, registration(given)).catch(error => {
    if (isUnreachable(error)) settings.change({ name, caps, guest_messages, accept_delegations })
    const anew = madeAnew()
    if (anew === undefined || !(error instanceof OperationRefused)) throw error
    refuse(error.code, `${error.message}; ${anew}`, error.next)
  })
  settings.change({ hub_url: hub.url })
  wake()
  return {
    status: 'registered',
    aid: identity.aid,
    hub_url: hub.url,
    hub_aid: hub.identity.aid,
    wire: hub.identity.wire,
    sealed: hub.mail !== undefined,
    keys_status: reply.keysStatus,
    card_status: reply.cardStatus,
    ...present({
      note: madeAnew() ?? noteOf(hub),
      probation_until: reply.probationUntilMs,
      trial: reply.trial,
    }),
  }
}

/** A hub that takes invitations says what its code, or the want of one, has to do with a refusal. */
function refuseInvite(error: unknown, given: HubRegister, aid: string): never {
  if (!(error instanceof Refused) || error.code !== 'admission_required') throw error
  const told = `the hub refused (${error.code})`
  if (given.token !== undefined)
    refuse(
      'hub_refused',
      `${told}: the code did not let ${aid} in: it is wrong, was used, or is over`,
      ASK_CODE,
    )
  if (!hasCodes(given.wire)) throw error
  refuse(
    'hub_refused',
    `${told}: ${aid} is not registered there; its operator lets it in, or gives a code for it`,
    [stepOfOperator(aid), 'or with a code, here:', `${registration(given)} --token CODE`].join('\n'),
  )
}

/** The command that asks the same once more. A phrase comes from standard input and is in no command. */
function registration(given: HubRegister): string {
  const { url, name, caps, guest_messages, accept_delegations, wire, token } = given
  const flags = {
    '--name': name,
    '--caps': caps?.join(','),
    '--guest-messages': guest_messages,
    '--accept-delegations': accept_delegations,
    '--wire': wire,
    '--token': token,
  }
  const words = Object.entries(withoutUndefined(flags)).flatMap(([flag, value]) => [flag, String(value)])
  return ['svc', 'hub-register', url, ...words].map(shellWord).join(' ')
}

const NAMED_MAX = 5

/** Contacts that a node at this hub cannot reach. */
export function elsewhereNote(contacts: Contacts, peers: PeerBook, hub: string): string | undefined {
  const names = contacts
    .list()
    .filter(({ aid }) => (peers.find(aid)?.log?.home ?? hub) !== hub)
    .map(({ aid, petname }) => petname ?? aid)
  if (names.length === 0) return undefined
  const shown = names.slice(0, NAMED_MAX).join(', ')
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
  return `with ${shown}${more}, at another hub, tasks wait both ways unless the two hubs list each other; meet at one, or ask their operators`
}
