/** How the page gets its token: served with it, or by a ticket that is traded once. It stays in memory and nowhere else. */
import type { Boot, Lack } from '../../protocol/control/console.ts'

export type Opened = { build: string; address: string } & ({ token: string } | { lacks: Lack | 'spent' })

/** Takes what the node served out of the document, and a ticket out of the address, before anything else runs. */
export async function openPage(): Promise<Opened> {
  const element = document.getElementById('boot')
  const boot = JSON.parse(element?.textContent ?? '') as Boot
  element?.remove()
  const ticket = /^#t=([\w-]+)$/.exec(location.hash)?.[1]
  if (ticket === undefined) return boot
  history.replaceState(null, '', location.pathname)
  const token = await trade(ticket)
  if (token !== undefined) return { build: boot.build, address: boot.address, token }
  return 'token' in boot ? boot : { build: boot.build, address: boot.address, lacks: 'spent' }
}

async function trade(ticket: string): Promise<string | undefined> {
  const answer = await fetch('/console/token', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ ticket }),
    credentials: 'omit',
  }).catch(() => undefined)
  if (answer?.ok !== true) return undefined
  return ((await answer.json()) as { token: string }).token
}
