/** What a running node says of itself, and how its hub's clock compares with this machine's. */
import { buildInfo } from '../../protocol/build-info.ts'
import type { NodeStatus } from '../../protocol/control/shapes.ts'
import { wordsOf } from '../../protocol/encoding/errors.ts'
import { type Finding, note, ok, wrong } from '../../protocol/encoding/finding.ts'
import { hubSend } from '../client/hub.ts'

const HUB_WAIT_MS = 5_000
/** Signed requests are refused beyond this. */
const CLOCK_APART_MAX_MS = 60_000

/** Build, hub, evidence and every warning of the node. */
export function checkStatus(status: NodeStatus): Finding[] {
  return [checkBuild(status), checkHub(status), checkChain(status), ...checkWarnings(status)]
}

function checkBuild({ build, version }: NodeStatus): Finding {
  if (build === buildInfo.build) return ok('program', `version ${version}, build ${build}`)
  const found = `the node runs build ${build}, this command is of build ${buildInfo.build}`
  return note('program', found, 'svc stop, then svc up')
}

function checkHub({ hub, hub_url: url }: NodeStatus): Finding {
  if (hub === null || url === null)
    return note('hub', 'this node is registered at no hub', 'svc hub-register <url>')
  const reason = hub.reason === undefined ? '' : `: ${hub.reason}`
  if (hub.state === 'online') return ok('hub', `${url} answers`)
  if (hub.state === 'registering') return note('hub', `registering at ${url}`, 'wait, then svc status')
  if (hub.state === 'stopped')
    return wrong('hub', `this node no longer talks to ${url}${reason}`, 'svc status')
  return wrong('hub', `${url} does not answer${reason}`, 'the node tries again by itself; svc logs')
}

function checkChain({ chain }: NodeStatus): Finding {
  if (chain.state === 'ACTIVE') return ok('evidence', `${chain.length} records`)
  const found = 'the evidence chain is quarantined; no more receipts are signed'
  return wrong('evidence', found, 'svc evidence --type svc.chain.fork')
}

const checkWarnings = ({ warnings }: NodeStatus): Finding[] =>
  warnings
    .filter(warning => !warning.startsWith('config.json: ') && !warning.startsWith('the disk has '))
    .map(warning => note('warning', warning, 'svc status'))

/** Compares the clocks by the date of one answer. */
export async function checkClock(url: string, now: () => number): Promise<Finding> {
  try {
    const address = new URL('hub/identity', `${url.replace(/\/$/, '')}/`).href
    const reply = await hubSend(HUB_WAIT_MS)({ method: 'GET', url: address, headers: { 'X-Svc-Wire': '3' } })
    const theirs = Date.parse(reply.headers.get('date') ?? '')
    if (Number.isNaN(theirs)) return note('clock', `${url} gave no date to compare with`, 'date -u')
    const apartMs = now() - theirs
    const seconds = Math.abs(Math.round(apartMs / 1000))
    if (Math.abs(apartMs) <= CLOCK_APART_MAX_MS) return ok('clock', `within ${seconds} s of ${url}`)
    const found = `this machine is ${seconds} s ${apartMs > 0 ? 'ahead of' : 'behind'} ${url}`
    return wrong('clock', found, 'set the clock: timedatectl set-ntp true')
  } catch (error) {
    return note('clock', `${url} could not be asked: ${wordsOf(error)}`, 'svc status')
  }
}
