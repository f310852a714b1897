import { expect, test } from 'vitest'
import * as limits from './limits.ts'

test('the limits of the wire are those that the documents state', () => {
  expect({ ...limits }).toEqual({
    ENVELOPE_BYTES_MAX: 100_663_296,
    ATTACHMENT_BYTES_MAX: 67_108_864,
    DACK_BYTES: 540,
    KEY_SET_BYTES_MAX: 8192,
    STATUS_ITEMS_MAX: 64,
    ACK_ITEMS_MAX: 1000,
    REVOKE_ITEMS_MAX: 1000,
    POLL_LIMIT_MAX: 256,
    LIST_LIMIT_MAX: 100,
    LIST_LIMIT_DEFAULT: 50,
    CAPS_MAX: 64,
    CAP_BYTES_MAX: 64,
    NAME_BYTES_MAX: 64,
    SUMMARY_BYTES_MAX: 512,
    README_BYTES_MAX: 65_536,
    DOCUMENT_BYTES_MAX: 786_432,
    REASON_BYTES_MAX: 1024,
    COMMENT_BYTES_MAX: 4096,
    CREDITS_MAX: 9_007_199_254_740_991,
  })
})
