declare const checked: unique symbol;

/**
 * Arguments of a call in which no problem was found. Only the function that looks for the problems makes a value of this type: an entrance
 * cannot hand unchecked arguments to the call path. The entrance has held them against their schema before.
 */
export type Checked<T> = T & { readonly [checked]: true };
