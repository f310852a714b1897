/** How the page gets its session: served with it, or by a ticket that counts once. Its key stays in memory and nowhere else. */
import type { Boot, Lack } from '../../protocol/control/console.ts'
import { keyFrom, maskedKey, ticketName, ticketProof } from '../../protocol/control/page-key.ts'
import { newAsked, post, type Session } from './peer.ts'

export type Opened = { build: string } & (Session | { lacks: Lack | 'spent' })

/** Takes what the node served out of the document, and a ticket out of the address, before anything else runs. */
export async function openPage(): Promise<Opened> {
  const element = document.getElementById('boot')
  const boot = JSON.parse(element?.textContent ?? '') as Boot
  element?.remove()
  const { build } = boot
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1]
  if (ticket !== undefined) {
    history.replaceState(null, '', location.pathname)
    const session = await trade(ticket)
    if (session !== undefined) return { build, ...session }
  }
  if ('key' in boot) return { build, session: boot.session, key: keyFrom(boot.key) }
  return { build, lacks: ticket === undefined ? boot.lacks : 'spent' }
}

async function trade(ticket: string): Promise<Session | undefined> {
  const asked = newAsked()
  const body = { ticket: ticketName(ticket), nonce: asked.nonce, proof: ticketProof(ticket, asked) }
  const answer = await post('/console/session', JSON.stringify(body)).catch(() => undefined)
  if (answer?.status !== 200) return undefined
  const { session, masked_key } = answer.said as { session: string; masked_key: string }
  return { session, key: maskedKey(ticket, asked, keyFrom(masked_key)) }
}
