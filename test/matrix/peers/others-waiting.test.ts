// project: programs
/** All that one hub asks another one waits, and meets what the quick suite leaves out. */
import { testPayersHub, testRecipientsHub } from './all-waiting.ts'

testPayersHub('others')
testRecipientsHub('others')
