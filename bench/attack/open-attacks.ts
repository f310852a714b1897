/** Attacks on a hub through its wire 1, where nobody signs what he sends: what they cost the mail of wire 3. */
import { orderRunningHub } from '../../hub/operator/socket.ts'
import { Wire1Client } from '../../hub/testing/wire1.ts'
import type { HubProcess } from '../lib/hub-load.ts'
import { ATTACKER, type Attack, base, type Orders } from './orders.ts'

const MIB = 1024 * 1024
/** With what stands around it, just under what the route takes. */
const BODY_MIB = 1023
const SOCKETS = 16
const RECIPIENTS = 64
const flags = ['--wire1-listen', '127.0.0.1:0']
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** An agent whose mailbox is there for everybody. */
async function recipient(hub: HubProcess, url: string): Promise<string> {
  const order = (given: { command: 'admit'; aid: string }) => orderRunningHub(hub.directory, given)
  const { aid } = await new Wire1Client({ ...hub, running: { wire1: { url }, order } }).registered()
  return aid
}

/** A send whose payload is as long as its body, which is written as fast as the hub takes it. */
async function sends(hub: HubProcess, seconds: number, { chunked }: { chunked: boolean }): Promise<Orders> {
  const url = hub.wire1Url
  if (url === undefined) throw new Error('the hub does not serve wire 1')
  const to = await recipient(hub, url)
  const [begin, end] = [`{"to_aid":"${to}","from_aid":"x","kind":"message","payload":"`, '"}']
  const chunk = (text: string): string => (chunked ? `${text.length.toString(16)}\r\n${text}\r\n` : text)
  const bytes = begin.length + BODY_MIB * MIB + end.length
  const length = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${bytes}`
  const head = `POST /relay/send HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`
  return {
    ...base(hub, seconds),
    ...{ url, sockets: SOCKETS, once: true },
    requests: [base64(head + chunk(begin))],
    body: {
      ...{ part: base64(chunk('A'.repeat(MIB))), times: BODY_MIB },
      end: base64(chunk(end) + (chunked ? '0\r\n\r\n' : '')),
    },
  }
}

/** Letters of a few bytes, to so many agents that none of their mailboxes is full. */
async function letters(hub: HubProcess, seconds: number): Promise<Orders> {
  const url = hub.wire1Url
  if (url === undefined) throw new Error('the hub does not serve wire 1')
  const agents = await Promise.all(Array.from({ length: RECIPIENTS }, () => recipient(hub, url)))
  const requests = agents.map(to => {
    const body = `{"to_aid":"${to}","from_aid":"x","kind":"result","interaction_id":"${to}","payload":"AAAA"}`
    const head = `POST /relay/send HTTP/1.1\r\nHost: ${new URL(url).host}\r\nContent-Type: application/json\r\nX-Forwarded-For: ${ATTACKER}\r\nContent-Length: ${body.length}\r\n\r\n`
    return base64(head + body)
  })
  return { ...base(hub, seconds), url, sockets: SOCKETS, requests }
}

export const openAttacks: readonly Attack[] = [
  {
    name: 'open-bodies',
    what: 'sends of nearly 1 GiB over wire 1, as their length says, which nobody signs',
    flags,
    orders: (hub, seconds) => sends(hub, seconds, { chunked: false }),
  },
  {
    name: 'open-bodies-chunked',
    what: 'the same with no length said',
    flags,
    orders: (hub, seconds) => sends(hub, seconds, { chunked: true }),
  },
  {
    name: 'open-letters',
    what: 'letters of a few bytes over wire 1, which nobody signs, to 64 agents as fast as they are taken',
    flags,
    orders: letters,
  },
]
