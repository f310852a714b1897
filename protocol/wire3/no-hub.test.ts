import { describe, expect, test } from 'vitest'
import { ForeignAnswer, Refused } from '../contract/client.ts'
import { sayNoHub } from './no-hub.ts'

const PLAIN = 'http://host.test:8080'
const TLS = 'https://host.test'
const broken = (code: string) => new Error('fetch failed', { cause: Object.assign(new Error('x'), { code }) })
const answered = (status: number, type?: string) => new ForeignAnswer(status, 'no words of a hub', type)
const refused = (status: number, reason: string) => new Refused(status, { reason, error: 'x' }, undefined)

describe('an address at which no hub answers', () => {
  test.each([
    [broken('ECONNRESET'), PLAIN, /^http:\/\/host\.test:8080 cut the connection .* begins with https:\/\/$/],
    [broken('HPE_INVALID_CONSTANT'), PLAIN, /^this is no svc hub: .* does not answer in HTTP; .*https/],
    [broken('EPROTO'), TLS, /^this is no svc hub: https:\/\/host\.test does not answer in TLS; .*http:/],
    [answered(200, 'text/html'), TLS, /answers HTTP 200 with text\/html; its operator knows the address$/],
    [answered(404), TLS, /answers HTTP 404 with something else;/],
    [answered(299), TLS, /answers HTTP 299/],
    [answered(300), TLS, /sends to another address \(HTTP 300\); give that one$/],
    [answered(399), TLS, /sends to another address \(HTTP 399\)/],
    [answered(400), TLS, /answers HTTP 400/],
    [answered(499), TLS, /answers HTTP 499/],
    [refused(401, 'unauthorized'), PLAIN, /^this is no svc hub: \S+ asks for a token, as .* svc node does;/],
    [refused(403, 'no_code_of_ours'), TLS, /answers HTTP 403 with words that no hub uses/],
  ])('is told apart: %s at %s', (error, url, sentence) => {
    expect(sayNoHub(error, `${url}/path`)).toMatch(sentence)
  })

  test.each([
    [broken('ECONNRESET'), TLS],
    [broken('ECONNREFUSED'), PLAIN],
    [answered(500), TLS],
    [refused(503, 'no_code_of_ours'), TLS],
    [refused(403, 'unknown_aid'), TLS],
    [new Error('x'), PLAIN],
  ])('may be a hub that does not answer now: %s at %s', (error, url) => {
    expect(sayNoHub(error, url)).toBeUndefined()
  })
})
