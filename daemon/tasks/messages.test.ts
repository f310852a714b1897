import { mkdtempSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cidText, contentId } from '../../protocol/crypto/hash.ts'
import { utf8 } from '../../protocol/encoding/bytes.ts'
import { decodePayload, kinds } from '../../protocol/mail/payload.ts'
import { documentBytes } from '../../protocol/proof/documents.ts'
import { readText, refundMessage, textMessage } from './messages.ts'

const folder = mkdtempSync(join(tmpdir(), 'words-'))
function file(name: string, bytes: Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

describe('a message in words', () => {
  test('is numbered, of a person unless a program wrote it, and names its files by their content', () => {
    const cid = contentId(utf8('a'))
    const attachment = { name: 'a.txt', mediaType: 'text/plain', size: 1, cid }
    const message = textMessage('see there', [attachment])
    expect(message).toMatchObject({ kind: kinds.message, text: 'see there', numbered: true, auto: false })
    expect(textMessage('see there', [], true).auto).toBe(true)
    expect(decodePayload(message.kind, message.payload).payload).toEqual({
      document: documentBytes({ text: 'see there', attachments: [{ name: 'a.txt', cid: cidText(cid) }] }),
    })
  })

  test.each([
    [1, '1 credit is given back'],
    [2, '2 credits are given back'],
  ])('that gives back %i says so, and carries what moves them', (amount, text) => {
    const encoded = utf8('an authorization')
    const message = refundMessage({ amount, encoded })
    expect(message.text).toBe(text)
    expect(decodePayload(message.kind, message.payload).payload).toEqual({
      document: documentBytes({ text, attachments: [] }),
      refund: encoded,
    })
  })
})

describe('the words of a file', () => {
  test('are its text, in whatever script', () => {
    expect(readText(file('words', utf8('größer – 更大\n')))).toBe('größer – 更大\n')
  })

  const asFile = 'send it as a file: --attach PATH'
  test.each([
    [
      'of one that is not UTF-8',
      () => file('latin', Buffer.from('größer', 'latin1')),
      /is not UTF-8 text$/,
      asFile,
    ],
    ['of one with NUL bytes', () => file('nul', utf8('a\0b')), /holds NUL bytes$/, asFile],
    [
      'of one that is too large',
      () => {
        const path = file('huge', utf8('x'))
        truncateSync(path, 64 * 1024 * 1024 + 1)
        return path
      },
      /huge is larger than the 64 MiB that a file may have$/,
      'split it, and send the parts as files: --attach PATH',
    ],
    ['of one that is not there', () => join(folder, 'nowhere'), /^cannot read .*nowhere: /, undefined],
    ['under a name that no file can have', () => `${folder}/a\0b`, /^cannot read /, undefined],
  ] as const)(
    '%s are refused, with what to do instead where there is something',
    (_, path, message, next) => {
      const refusal = { code: 'file_unreadable', message: expect.stringMatching(message) as string, next }
      expect(() => readText(path())).toThrow(expect.objectContaining(refusal))
    },
  )
})
