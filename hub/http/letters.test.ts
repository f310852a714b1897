/** An answer with mail whose reader goes away leaves no open file behind. */

import { mkdtempSync, rmSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { BlobFolder } from '../store/blobs/folder.ts'
import { type Printed, writeMail } from './letters.ts'

test('a file is closed though the client went before its first byte was written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-poll-'))
  const blobs = new BlobFolder(folder)
  const name = 'a'.repeat(32)
  const writer = await blobs.create(name)
  await writer.write(new Uint8Array(1000))
  await writer.commit()
  const opened = vi.spyOn(blobs, 'open')
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  response.destroy()
  const printed: Printed<unknown> = {
    encoding: 'base64',
    before: () => '{"id":1',
    member: 'bytes',
    after: () => '}',
  }
  const mail = { id: 1, size: 1000, file: name }
  const sources = { contents: async () => new Map(), blobs }
  await expect(writeMail(response, [mail], printed, sources)).rejects.toThrow()
  const file = await opened.mock.results[0]?.value
  await expect(file?.fill(new Uint8Array(1))).rejects.toThrow(/closed/)
  rmSync(folder, { recursive: true })
})
