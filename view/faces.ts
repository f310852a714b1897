/** The faces of every state: what a screen shows while it loads, when it is empty, and what is wrong with the node. */
import { sayNobody } from '../protocol/control/found.ts'
import { present } from '../protocol/encoding/present.ts'
import { size, span } from './ages.ts'
import { cleanLine } from './clean.ts'
import type { Screen } from './rows.ts'
import type { Tone } from './sentences.ts'
import type { View } from './state.ts'

export type FaceKind =
  | 'loading'
  | 'empty'
  | 'refused'
  | 'node_down'
  | 'node_stopped'
  | 'deactivated'
  | 'old_copy'
  | 'quarantined'
  | 'no_hub'
  | 'hub_stopped'
  | 'hub_unreachable'
  | 'kept_out'
  | 'registering'
  | 'not_sealed'
  | 'queue'
  | 'receiving'
  | 'stale'
  | 'polling'
  | 'warning'
  | 'waiting'
  | 'no_backup'

/** What helps in a state, as a screen offers it with one button. */
export type Help = {
  readonly says: string
  readonly does:
    | { readonly to: 'setting'; readonly id: string }
    | { readonly to: 'screen'; readonly screen: Screen; readonly waits?: true }
    | { readonly to: 'find'; readonly words: string }
    | { readonly to: 'copy'; readonly text: string; readonly what: string }
}
/** One state of the node or of a screen; `next` is a command of the line or what to press. */
export type Face = { kind: FaceKind; tone: Tone; says: string; next?: string; help?: Help }

type Counts = NonNullable<View['status']>['counts']

const STALE_MS = 40_000
const LOOK_AGAIN: Pick<Face, 'next' | 'help'> = {
  next: 'svc version',
  help: { says: 'Look at the hub again', does: { to: 'setting', id: 'hub_look' } },
}

/** What is wrong or waits now, the worst first; none while all is well. */
export function banners(view: View, now: number): Face[] {
  // what a node said of its hub and its mail before it went is old
  const ofHub = isGone(view) ? [] : [...hubFaces(view, now), ...receivingFaces(view)]
  return [
    ...connectionFaces(view, now),
    ...identityFaces(view),
    ...ofHub,
    ...queueFaces(view),
    ...warningFaces(view),
  ]
}

function connectionFaces({ connection, heardAt }: View, now: number): Face[] {
  switch (connection.state) {
    case 'lost': {
      const wait = connection.retryAt - now
      const again = wait > 0 ? `trying again in ${span(wait + 999)}` : 'trying again'
      const next = connection.next ?? 'svc up'
      return [{ kind: 'node_down', tone: 'bad', says: `${cleanLine(connection.says)}; ${again}`, next }]
    }
    case 'stopped':
      return [{ kind: 'node_stopped', tone: 'bad', says: 'the node was stopped', next: 'svc up' }]
    case 'polling':
      return [
        { kind: 'polling', tone: 'quiet', says: 'this node sends no changes; it is asked every few seconds' },
      ]
    case 'live':
      return heardAt !== undefined && now - heardAt > STALE_MS
        ? [
            {
              kind: 'stale',
              tone: 'warn',
              says: `nothing heard for ${span(now - heardAt)}; this may be out of date`,
            },
          ]
        : []
    case 'connecting':
      return []
  }
}

function identityFaces({ status }: View): Face[] {
  if (status === undefined) return []
  const faces: Face[] = []
  if (status.chain.state === 'QUARANTINED')
    faces.push({
      kind: 'quarantined',
      tone: 'bad',
      says: 'QUARANTINED: the evidence chain shows two records for one place; no receipts are signed',
      next: 'svc doctor',
    })
  if (status.old_copy)
    faces.push({
      kind: 'old_copy',
      tone: 'bad',
      says: 'a newer copy of this node was seen; this one signs nothing',
      next: 'svc status',
    })
  if (status.deactivated)
    faces.push({
      kind: 'deactivated',
      tone: 'bad',
      says: 'this identity has ended; nobody can sign for it',
      next: 'svc id new <name>',
    })
  return faces
}

function hubFaces({ status }: View, now: number): Face[] {
  if (status === undefined) return []
  const { hub } = status
  if (hub === null)
    return [
      {
        kind: 'no_hub',
        tone: 'warn',
        says: 'no hub yet: nobody can reach you, and nothing leaves',
        next: 'svc hub-register <url> --name <name>',
        help: { says: 'Join a hub', does: { to: 'setting', id: 'hub_join' } },
      },
    ]
  const why = hub.reason === undefined ? '' : `: ${cleanLine(hub.reason)}`
  const faces: Face[] = []
  if (hub.kept_out === true)
    faces.push({ kind: 'kept_out', tone: 'warn', says: `the hub has not let you in yet${why}` })
  else if (hub.state === 'stopped')
    faces.push({
      kind: 'hub_stopped',
      tone: 'bad',
      says: `no longer talks to its hub${why}`,
      // an old copy asks no hub before a person has decided
      ...(status.old_copy ? { next: 'svc status' } : LOOK_AGAIN),
    })
  else if (hub.state === 'registering') faces.push(registering(hub.pow_progress, hub.pow_left_ms))
  else if (hub.state === 'offline') faces.push(unreachable(hub, why, now))
  else if (why !== '') faces.push({ kind: 'warning', tone: 'warn', says: `the hub answers${why}` })
  if (!hub.sealed && hub.wire !== null)
    faces.push({
      kind: 'not_sealed',
      tone: 'warn',
      says: 'mail at this hub is NOT sealed: its operator can read it',
    })
  return faces
}

function registering(progress: number | undefined, leftMs: number | undefined): Face {
  const left = leftMs === undefined ? '' : `, about ${span(leftMs + 999)} to go`
  const done =
    progress === undefined
      ? ''
      : `: proof of work, some ${Math.round(progress * 100)} % of what is expected${left}`
  return { kind: 'registering', tone: 'wait', says: `registering at the hub${done}` }
}

function unreachable(hub: { last_contact_at: number | null }, why: string, now: number): Face {
  const since = hub.last_contact_at === null ? '' : `; last heard of ${span(now - hub.last_contact_at)} ago`
  return { kind: 'hub_unreachable', tone: 'warn', says: `hub not reached${since}${why}`, next: 'svc doctor' }
}

/** Messages that have not left this machine. */
export const stillHere = (counts: Counts | undefined): number =>
  (counts?.outbox ?? 0) - (counts?.outbox_at_hub ?? 0)

function queueFaces(view: View): Face[] {
  const { status } = view
  const held = status?.counts.outbox_held ?? 0
  const waiting = stillHere(status?.counts) - held
  if (waiting + held === 0 || (status?.hub?.state === 'online' && !isGone(view))) return []
  const [goes, go] = leavesByItself(view)
    ? [' and goes out by itself', ' and go out by themselves']
    : ['', '']
  const says = [
    waiting === 1 && `1 message waits on this machine${goes}`,
    waiting > 1 && `${waiting} messages wait on this machine${go}`,
    held > 0 && `${held} held back by you`,
  ]
  return [{ kind: 'queue', tone: 'wait', says: says.filter(part => part !== false).join('; ') }]
}

/** A node that is not there, has no hub, or may not sign sends nothing until a person has done something. */
const leavesByItself = (view: View): boolean => {
  const { hub, old_copy, deactivated } = view.status ?? {}
  if (isGone(view) || old_copy === true || deactivated === true) return false
  return hub != null && hub.state !== 'stopped'
}

const receivingFaces = ({ transfers: { received } }: View): Face[] =>
  received === undefined
    ? []
    : [{ kind: 'receiving', tone: 'wait', says: `mail is coming in: ${size(received)} so far` }]

const warningFaces = ({ status }: View): Face[] =>
  (status?.warnings ?? []).map(says => ({ kind: 'warning', tone: 'warn', says: cleanLine(says) }))

const copyAddress = ({ status }: View): { help?: Help } =>
  status === undefined
    ? {}
    : { help: { says: 'Copy your address', does: { to: 'copy', text: status.aid, what: 'your address' } } }

const EMPTY: Record<Screen, (view: View) => Face> = {
  inbox: view => {
    const { status, interactions } = view
    return {
      kind: 'empty',
      tone: 'quiet',
      says: `no tasks yet. Others reach you as ${cleanLine(status?.name ?? '') || 'your address'}: ${cleanLine(status?.aid ?? '')}`,
      next: `give your address to somebody${interactions.size === 0 ? '' : '; what you delegated stands on screen 2'}`,
      ...copyAddress(view),
    }
  },
  sent: () => ({
    kind: 'empty',
    tone: 'quiet',
    says: 'you have delegated nothing yet',
    next: 'find an agent and hand it a task',
    help: { says: 'Find an agent', does: { to: 'screen', screen: 'agents' } },
  }),
  agents: ({ agents }) => nobodyFace(agents),
  evidence: () => ({
    kind: 'empty',
    tone: 'quiet',
    says: 'no records yet; each delegation and each receipt adds one',
    help: { says: 'Find an agent', does: { to: 'screen', screen: 'agents' } },
  }),
  node: () => ({ kind: 'loading', tone: 'quiet', says: 'asking the node' }),
}

function nobodyFace({ query, searched }: View['agents']): Face {
  const face = { kind: 'empty', tone: 'quiet' } as const
  const again = (words: string): Help => ({ says: 'Look again', does: { to: 'find', words } })
  if (query === '')
    return {
      ...face,
      says: 'nobody is listed at this hub',
      next: 'an agent of another hub is found by its AID',
      help: again(''),
    }
  const words = cleanLine(query, 60)
  const help: Help = { says: 'Show everybody', does: { to: 'find', words: '' } }
  if (searched === undefined || searched.searched === 'own_hub')
    return {
      ...face,
      says: `nobody was found for "${words}" at your hub`,
      next: 'search with other words, for cap:<name>, or for the AID of an agent of another hub',
      help,
    }
  const isOpen = searched.partial === true || searched.unusable === true
  return { ...face, ...sayNobody(searched), help: isOpen ? again(query) : help }
}

/** What stands in the place of the rows: loading, refused, empty; undefined where there are rows, or were none asked for. */
export function screenFace(view: View, screen: Screen, rows: number): Face | undefined {
  if (rows > 0) return undefined
  const { loaded, refusal } = loadedOf(view, screen)
  if (isGone(view) && (!loaded || refusal !== undefined))
    return {
      kind: 'node_down',
      tone: 'quiet',
      says: 'the node is not there; what it holds shows once it answers',
    }
  if (refusal !== undefined)
    return {
      kind: 'refused',
      tone: 'bad',
      says: cleanLine(refusal.says),
      ...present({ next: refusal.next }),
    }
  if (!loaded) return { kind: 'loading', tone: 'quiet', says: 'loading' }
  return EMPTY[screen](view)
}

/** Whether nothing comes from the node now, and something has to start it. */
export const isGone = ({ connection }: View): boolean =>
  connection.state === 'lost' || connection.state === 'stopped'

function loadedOf(view: View, screen: Screen) {
  if (screen === 'inbox') return view.lists.received
  if (screen === 'sent') return view.lists.sent
  if (screen === 'agents') return view.agents
  if (screen === 'evidence') return view.evidence
  return { loaded: view.status !== undefined, refusal: undefined }
}
