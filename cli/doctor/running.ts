/** What a running node says of itself, and how its hub's clock compares with this machine's. */
import { buildInfo } from '../../protocol/build-info.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { hubSend } from '../client/hub.ts'
import type { Io } from '../io.ts'

const HUB_WAIT_MS = 5_000
const MEND_CLOCK = 'set the clock of this machine: timedatectl set-ntp true'
/** Signed requests are refused beyond this. */
const CLOCK_APART_MAX_MS = 60_000
const SECONDS_OF_HOUR = 3_600

/** How the hub answered this command, which asks it apart from the node. */
export type HubSeen = {
  answers: boolean
  /** The clocks of hub and machine are. */
  isApart: boolean
  findings: Finding[]
}

/** Build, hub, evidence and every warning of the node. */
export function checkStatus(status: NodeStatus, seen: HubSeen): Finding[] {
  return [checkBuild(status), checkHub(status, seen), checkChain(status), ...checkWarnings(status)]
}

function checkBuild({ build, version }: NodeStatus): Finding {
  if (build === buildInfo.build) return ok('program', `version ${version}, build ${build}`)
  const found = `the node runs build ${build}, this command is of build ${buildInfo.build}`
  return note('program', found, 'svc stop && svc up')
}

function checkHub(
  { aid, hub, hub_url: url, old_copy: isOld, data_dir: dir }: NodeStatus,
  { answers, isApart }: HubSeen,
): Finding {
  if (hub === null || url === null)
    return note('hub', 'this node is registered at no hub', 'svc hub-register <url> --name <name>')
  const reason = hub.reason === undefined ? '' : `: ${hub.reason}`
  if (hub.state === 'online') return ok('hub', `${url} answers`)
  if (hub.state === 'registering') return note('hub', `registering at ${url}`, 'wait, then svc status')
  if (hub.state === 'stopped')
    return wrong('hub', `this node no longer talks to ${url}${reason}`, isOld ? mendOldCopy(dir) : 'svc logs')
  if (hub.kept_out)
    return wrong('hub', `${url} answers, but refuses this node${reason}`, `ask the operator about ${aid}`)
  if (isApart)
    return wrong('hub', `${url} answers, but takes nothing while the clocks are apart${reason}`, MEND_CLOCK)
  if (answers && reason === '')
    return note('hub', `${url} answers, and this node has not reached it yet`, 'wait, then svc doctor')
  const found = answers ? 'answers, but not to this node' : 'does not answer'
  return wrong('hub', `${url} ${found}${reason}`, 'the node tries again by itself; svc logs')
}

const mendOldCopy = (dir: string) =>
  `after svc stop put the newest copy in place of ${dir} and run svc up – only if that copy is lost: svc evidence accept && svc up`

function checkChain({ chain }: NodeStatus): Finding {
  if (chain.state === 'ACTIVE') return ok('evidence', `${chain.length} records`)
  const found = 'the evidence chain is quarantined; no more receipts are signed'
  return wrong('evidence', found, 'svc evidence --type svc.chain.fork')
}

const checkWarnings = ({ warnings }: NodeStatus): Finding[] =>
  warnings
    .filter(warning => !warning.startsWith('config.json: ') && !warning.startsWith('the disk has '))
    .map(warning => note('warning', warning, 'svc status'))

/** Asks the hub once, and compares the clocks by the date of its answer. */
export async function checkClock(url: string, io: Io): Promise<HubSeen> {
  try {
    const address = new URL('hub/identity', `${url.replace(/\/$/, '')}/`).href
    const reply = await hubSend(
      io,
      HUB_WAIT_MS,
    )({ method: 'GET', url: address, headers: { 'X-Svc-Wire': '3' } })
    const theirs = Date.parse(reply.headers.get('date') ?? '')
    if (Number.isNaN(theirs)) return seen(note('clock', `${url} gave no date to compare with`, 'date -u'))
    const apartMs = io.now() - theirs
    const seconds = Math.abs(Math.round(apartMs / 1000))
    const apart =
      seconds < 2 * SECONDS_OF_HOUR ? `${seconds} s` : `${Math.round(seconds / SECONDS_OF_HOUR)} hours`
    if (Math.abs(apartMs) <= CLOCK_APART_MAX_MS) return seen(ok('clock', `within ${seconds} s of ${url}`))
    const found = `the clock of this machine is ${apart} ${apartMs > 0 ? 'ahead of' : 'behind'} ${url}`
    return seen(wrong('clock', found, MEND_CLOCK))
  } catch (error) {
    return seen(note('clock', `${url} could not be asked: ${wordsOf(error)}`, 'svc status'), false)
  }
}

const seen = (clock: Finding, answers = true): HubSeen => ({
  answers,
  isApart: clock.state === 'wrong',
  findings: [clock],
})
