/** Sends, plants a canary to see that the search can find, then searches everything the hub keeps and says. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { startTestHub } from '../../hub/testing/hub.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { aidBytes } from '../../protocol/identity/aid.ts'
import { outsider, searchFolder, sendMail, traces } from './canary.ts'

export async function scanAfter(sends: number): Promise<void> {
  const hub = await startTestHub()
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

  const mail = await sendMail(hub, sends)
  expect(mail.statuses.get('queued') ?? 0).toBe(sends)
  expect(searchFolder(hub.directory, traces(mail.outsiders))).toEqual([])
  expect(mail.outsiders.filter(one => JSON.stringify(hub.alerts).includes(one.log.aid))).toEqual([])
  await hub.close()
}
