/** Sends, plants a canary to see that the search can find, then searches everything the hub keeps and says. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startTestHub } from '../../hub/testing/hub.ts'
import { makeOpenTraffic } from '../../hub/testing/open-traffic.ts'
import { Wire1Client } from '../../hub/testing/wire1.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { aidBytes } from '../../protocol/identity/aid.ts'
import { outsider, searchFolder, sendMail, traces, tracesOfAids } from './canary.ts'

/** `beside`: a second line of the hub carries mail that it can read, of agents and visitors, all the while. */
export async function scanAfter(sends: number, { beside = false } = {}): Promise<void> {
  const wire1 = { listen: { host: '127.0.0.1', port: 0 }, baseUrl: undefined }
  const hub = await startTestHub(beside ? { wire1, guests: true } : {})
  const canary = outsider(0)
  const planted = join(hub.directory, 'tmp', 'planted')
  mkdirSync(join(hub.directory, 'tmp'), { recursive: true })
  writeFileSync(
    planted,
    Buffer.concat([
      Buffer.from('x'),
      Buffer.from(aidBytes(canary.log.aid)),
      Buffer.from(toBase64url(canary.log.publicKey)),
    ]),
  )
  await hub.running.hub.context.store.putSetting('canary', `${canary.name} was here`)
  const found = searchFolder(hub.directory, traces([canary]))
  expect(found.some(place => place.includes('AID of outsider 0 as bytes') && place.includes('planted'))).toBe(
    true,
  )
  expect(found.some(place => place.includes('name of outsider 0') && place.includes('hub.db'))).toBe(true)

  const [mail] = await Promise.all([
    sendMail(hub, sends),
    beside ? makeOpenTraffic(new Wire1Client(hub), sends) : undefined,
  ])
  expect(Object.fromEntries(mail.statuses)).toEqual({ queued: sends })
  expect(searchFolder(hub.directory, traces(mail.outsiders))).toEqual([])
  expect(mail.outsiders.filter(one => JSON.stringify(hub.alerts).includes(one.log.aid))).toEqual([])
  await hub.close()
}

/** The same by way of another hub, which keeps no more, while the home of the recipients learns nobody of there either. */
export async function scanBothAfter(sends: number): Promise<void> {
  const [hub, home] = await Promise.all([startTestHub(), startTestHub()])
  for (const [at, peer] of [
    [hub, home],
    [home, hub],
  ] as const) {
    const { kelBytes } = peer.running.hub.context.identity
    await at.running.order({ command: 'peers', add: { url: peer.url, kel: toBase64url(kelBytes) } })
  }
  const mail = await sendMail(hub, sends, home)
  expect(Object.fromEntries(mail.statuses)).toEqual({ queued: sends })
  const ofOutsiders = traces(mail.outsiders)
  for (const { directory } of [hub, home]) expect(searchFolder(directory, ofOutsiders)).toEqual([])

  const ofSenders = tracesOfAids(mail.registered.map(({ aid }) => aid))
  expect(searchFolder(hub.directory, ofSenders).length).toBeGreaterThan(0)
  expect(searchFolder(home.directory, ofSenders)).toEqual([])
  const ofRecipients = tracesOfAids(mail.recipients.map(({ aid }) => aid))
  expect(searchFolder(hub.directory, ofRecipients)).toEqual([])
  const named = [...ofSenders, ...ofRecipients].filter(([, form]) =>
    [hub, home].some(({ alerts }) => JSON.stringify(alerts).includes(String(form))),
  )
  expect(named).toEqual([])
  await Promise.all([hub.close(), home.close()])
}
