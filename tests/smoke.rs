use nulls::*;
#[test]
fn many() {
    let map: NullsHashMap<u64, u64> = NullsHashMap::new();
    let m = map.pin();
    for i in 0..1_000_000u64 {
        assert_eq!(m.insert(i, i), None);
    }
    for i in 0..1_000_000u64 {
        assert_eq!(m.get(&i), Some(&i));
    }
    for i in 1_000_000..1_100_000u64 {
        assert_eq!(m.get(&i), None);
    }
    let mut seen = vec![0; 1_000_000];
    for (k, _) in m.iter() {
        seen[*k as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n == 1));
    println!("{}", map.stats());
    for i in 0..500_000u64 {
        assert_eq!(m.remove(&i), Some(&i));
    }
    assert_eq!(map.len(), 500_000);
    m.clear();
    assert_eq!(map.len(), 0);
    assert_eq!(m.iter().count(), 0);
    println!("{}", map.stats());
}
#[test]
fn threads() {
    let map: NullsHashMap<u64, String> = NullsHashMap::new();
    std::thread::scope(|s| {
        for t in 0..4 {
            let map = &map;
            s.spawn(move || {
                for i in 0..200_000u64 {
                    let m = map.pin();
                    let k = i % 5000 + (t % 2) * 1000;
                    match i % 3 {
                        0 => {
                            m.insert(k, k.to_string());
                        }
                        1 => {
                            m.remove(&k);
                        }
                        _ => {
                            if let Some(v) = m.get(&k) {
                                assert_eq!(v, &k.to_string());
                            }
                        }
                    }
                }
            });
        }
    });
    println!("{}", map.stats());
}
